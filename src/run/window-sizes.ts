/** How large the windows of each slice were, which is learned for the next run's plan. */

import { daysBetween } from '../model/calendar.ts';
import type { Window } from '../model/window.ts';

/** How large the windows of each slice were, and which were too heavy. */
export class WindowSizes {
  readonly #loadedDays = new Map<string, number>();
  readonly #heavy = new Set<string>();

  loaded({ slice, asked }: Window): void {
    const days = daysBetween(asked.start, asked.end);
    this.#loadedDays.set(slice.name, Math.max(days, this.#loadedDays.get(slice.name) ?? 0));
  }

  tooHeavy({ slice }: Window): void {
    this.#heavy.add(slice.name);
  }

  /** Days of the largest window that was loaded of a slice none of whose windows were too heavy; else null. */
  lightDays(slice: string): number | null {
    return this.#heavy.has(slice) ? null : (this.#loadedDays.get(slice) ?? null);
  }
}
