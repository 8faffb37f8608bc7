/** The state of a run, as its events add up, and the lines that say it. */

import type { EventType, RunEvent } from '../events.ts';
import { countText, elapsedText, groupedText } from './measure.ts';
import { oneLine } from './printable.ts';
import { textWidth } from './table.ts';

const none = { planned: 0, loaded: 0, failed: 0, rows: 0, restated: 0 };

type Counts = Readonly<typeof none>;

const sum = (one: Counts, other: Partial<Counts>): Counts => ({
  planned: one.planned + (other.planned ?? 0),
  loaded: one.loaded + (other.loaded ?? 0),
  failed: one.failed + (other.failed ?? 0),
  rows: one.rows + (other.rows ?? 0),
  restated: one.restated + (other.restated ?? 0),
});

/** What an event changes. */
interface Effect {
  readonly slice?: string | null;
  readonly adds?: Partial<Counts>;
  readonly inFlight?: 1 | -1;
  /** What is being done, when it is not windows. */
  readonly doing?: string;
}

const effects: { readonly [T in EventType]?: (event: RunEvent<T>) => Effect } = {
  run_started: () => ({ doing: 'catalog' }),
  lock_waiting: () => ({ doing: 'waiting for the warehouse' }),
  catalog_loaded: () => ({ doing: 'partners and links' }),
  links_loaded: ({ app }) => ({ doing: `links of ${app}` }),
  slice_planned: ({ slice, windows }) => ({ slice, adds: { planned: windows }, doing: '' }),
  window_asked: () => ({ inFlight: 1, doing: '' }),
  window_fetched: () => ({ inFlight: -1, doing: '' }),
  window_loaded: ({ slice, rows, restatedPeriods: restated }) => ({ slice, adds: { loaded: 1, rows, restated } }),
  window_split: ({ slice, into }) => ({ slice, adds: { planned: into - 1 }, inFlight: -1, doing: '' }),
  windows_joined: ({ slice, from, into }) => ({ slice, adds: { planned: into - from } }),
  failed: ({ slice, window }) => (window === null ? {} : { slice, adds: { failed: 1 }, inFlight: -1, doing: '' }),
  breaker_opened: () => ({ doing: 'the service keeps failing' }),
  breaker_closed: () => ({ doing: '' }),
  spend_settled: ({ settled, due }) => ({ doing: `${groupedText(settled)} of ${countText(due, 'line')}` }),
  published: ({ kind }) => ({ doing: `publishing, ${kind} done` }),
};

const effectOf = <T extends EventType>(type: T, event: RunEvent<T>): Effect => effects[type]?.(event) ?? {};

const isFinished = ({ planned, loaded, failed }: Counts): boolean => loaded + failed >= planned;

const GAP = ' · ';
const BAR_COLUMNS = 10;
/** The events of a run so far; instants are in milliseconds of whoever tallies. */
export class Tally {
  readonly #slices = new Map<string, Counts>();
  #command = 'ripen';
  #startedMs: number;
  #inFlight = 0;
  #doing = '';

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  /** Adds an event; returns what became of a slice whose last window it ended, null for any other event. */
  add(event: RunEvent, atMs: number): string | null {
    if (event.type === 'run_started') this.#begin(event.command, atMs);
    const { slice = null, adds = {}, inFlight = 0, doing = this.#doing } = effectOf(event.type, event);
    this.#inFlight = Math.max(0, this.#inFlight + inFlight);
    this.#doing = doing;
    if (slice === null) return null;
    const counts = sum(this.#slices.get(slice) ?? none, adds);
    this.#slices.set(slice, counts);
    const isEnd = ['window_loaded', 'slice_planned', 'failed'].includes(event.type);
    return isEnd && isFinished(counts) ? finishedText(oneLine(slice), counts) : null;
  }

  #begin(command: string, atMs: number): void {
    this.#slices.clear();
    [this.#command, this.#startedMs, this.#inFlight] = [command, atMs, 0];
  }

  /** The run on one line, never as wide as the terminal, so that it can be repainted in place; what matters least comes last. */
  line(nowMs: number, columns: number): string {
    const all = [...this.#slices.values()].reduce(sum, none);
    const planned = Math.max(all.planned, all.loaded + all.failed);
    const full = planned === 0 ? 0 : Math.floor((BAR_COLUMNS * (all.loaded + all.failed)) / planned);
    const parts = [
      `${this.#command} ${elapsedText(nowMs - this.#startedMs)}`,
      planned === 0 ? '' : '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full),
      planned === 0 ? '' : `${all.loaded}/${countText(planned, 'window')}`,
      all.failed === 0 ? '' : `${all.failed} failed`,
      this.#doing === '' && planned > 0 && isFinished(all) ? 'publishing' : this.#doing,
      this.#inFlight === 0 ? '' : `${this.#inFlight} in flight`,
      all.rows === 0 ? '' : countText(all.rows, 'row'),
    ].filter((part) => part !== '');
    const line = (): string => oneLine(parts.join(GAP));
    // One column stays free: many terminals wrap when the last one is written.
    while (parts.length > 0 && textWidth(line()) >= columns) parts.pop();
    return line();
  }
}

function finishedText(slice: string, { loaded, failed, rows, restated }: Counts): string {
  if (loaded + failed === 0) return `${slice}: nothing due`;
  const failures = failed === 0 ? '' : `, ${groupedText(failed)} failed`;
  const changed = restated === 0 ? '' : `, ${countText(restated, 'period')} restated`;
  return `${slice}: ${countText(loaded, 'window')} loaded${failures}, ${countText(rows, 'row')}${changed}`;
}
