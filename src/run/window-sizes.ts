/** What a run learns of the size of windows, slice by slice: how large they were, which were too heavy, how large the next may be. */

import { daysBetween } from '../model/calendar.ts';
import type { Window } from '../model/window.ts';
import { BYTES_PER_WINDOW, ROWS_PER_WINDOW } from '../plan/plan.ts';

/** How many times as long as any before it a window may be. */
const GROWTH = 8;

interface Seen {
  /** Of all answers, and their plain bytes. */
  days: number;
  bytes: number;
  /** Of the largest window that was answered. */
  answeredDays: number;
  /** Of the largest window that was loaded; null before the first. */
  loadedDays: number | null;
  /** Of the window that was loaded as a whole although parts are held for it; null before. */
  wholeDays: number | null;
  rows: number;
  isHeavy: boolean;
}

export class WindowSizes {
  readonly #seen = new Map<string, Seen>();

  /** Takes an answer, whatever becomes of it. */
  answered(window: Window, bytes: number): void {
    const seen = this.#weighed(window, bytes);
    seen.answeredDays = Math.max(daysIn(window), seen.answeredDays);
  }

  loaded(window: Window, rows: number): void {
    const seen = this.#of(window.slice.name);
    seen.loadedDays = Math.max(daysIn(window), seen.loadedDays ?? 0);
    if (window.heldParts !== null) seen.wholeDays = daysIn(window);
    seen.rows += rows;
  }

  /** Takes what was too heavy, and how many bytes it had; null where it was not answered. */
  tooHeavy(window: Window, bytes: number | null): void {
    this.#of(window.slice.name).isHeavy = true;
    if (bytes !== null) this.#weighed(window, bytes);
  }

  /** Days of the largest window that was loaded of a slice none of whose windows were too heavy; else null. */
  lightDays(slice: string): number | null {
    const { isHeavy, loadedDays } = this.#of(slice);
    return isHeavy ? null : loadedDays;
  }

  /** Days of the window that showed that a slice's parts are no longer needed, where no window was too heavy; else null. */
  wholeDays(slice: string): number | null {
    const { isHeavy, wholeDays } = this.#of(slice);
    return isHeavy ? null : wholeDays;
  }

  /** Most days the next window of a slice may have, within bytes; no more than were answered where some were too heavy. */
  nextDays(slice: string): number | null {
    const { isHeavy, answeredDays } = this.#of(slice);
    const fitting = this.#fittingDays(slice);
    if (fitting === null) return null;
    return answeredDays === 0 ? fitting : Math.min(fitting, isHeavy ? answeredDays : answeredDays * GROWTH);
  }

  /** Most days that a window may have because its rows are wider than usual; else null. */
  wideDays(slice: string): number | null {
    const { bytes, rows } = this.#of(slice);
    const isWide = rows > 0 && bytes / rows > BYTES_PER_WINDOW / ROWS_PER_WINDOW;
    return isWide ? this.#fittingDays(slice) : null;
  }

  #fittingDays(slice: string): number | null {
    const { days, bytes } = this.#of(slice);
    return days === 0 ? null : Math.max(1, Math.floor((BYTES_PER_WINDOW * days) / Math.max(1, bytes)));
  }

  #weighed(window: Window, bytes: number): Seen {
    const seen = this.#of(window.slice.name);
    seen.days += daysIn(window);
    seen.bytes += bytes;
    return seen;
  }

  #of(slice: string): Seen {
    const known = this.#seen.get(slice);
    if (known !== undefined) return known;
    const fresh = { days: 0, bytes: 0, answeredDays: 0, loadedDays: null, wholeDays: null, rows: 0, isHeavy: false };
    this.#seen.set(slice, fresh);
    return fresh;
  }
}

const daysIn = ({ asked }: Window): number => daysBetween(asked.start, asked.end);
