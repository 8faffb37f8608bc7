/** One JSON object per event, for a log collector. */

import type { RunEvent } from '../events.ts';
import { jsonLine, type JsonLine } from './printable.ts';

/** How grave an event is: it failed something, wants a look, or is on the way. */
function levelOf({ type }: RunEvent): 'error' | 'warning' | 'info' {
  if (type === 'failed') return 'error';
  return type === 'warning' || type === 'breaker_opened' ? 'warning' : 'info';
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Writes events in order; each but those before `run_started` carries the id of the run, null stands for none yet. */
export class JsonLines {
  #runId: string | null = null;

  /** The event's own fields, in snake_case, after `at`, its instant in UTC, `level`, `type` and `run_id`. */
  line(event: RunEvent, at: Date): JsonLine {
    if (event.type === 'run_started') this.#runId = event.runId;
    const fields = Object.entries(event).map(([name, value]) => [snakeCase(name), value] as const);
    const { type } = event;
    const head = { at: at.toISOString(), level: levelOf(event), type, run_id: this.#runId };
    return jsonLine({ ...head, ...Object.fromEntries(fields) });
  }
}
