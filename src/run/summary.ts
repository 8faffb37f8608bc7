/** What a run did so far, and its summary as `--json` prints it (its shape is public interface). Decides nothing. */

import { exitCodeOf, Failure, type FailureCode } from '../errors.ts';
import type { Loaded } from '../load/outcome.ts';
import { addDays, day, type Day } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, type Window } from '../model/window.ts';
import { periodsByReason, type SlicePlan } from '../plan/plan.ts';
import type { AuditResult } from '../publish/audits.ts';
import type { Published } from '../publish/publish.ts';
import type { ServiceStatistics } from '../service/service.ts';
import type { RunStart } from '../warehouse/runs.ts';

export interface SliceSummary {
  readonly name: string;
  readonly windows: { readonly planned: number; readonly loaded: number; readonly failed: number };
  readonly requests: number;
  readonly rows: { readonly fetched: number; readonly loaded: number; readonly rejected: number };
  /** Number of periods by the reason they were due: `new`, `missing`, `open`, `maturing`, … */
  readonly periods: Readonly<Record<string, number>>;
  readonly restated_periods: number;
  /** Stretches of periods that were loaded without rows, `first:last`, both inclusive. */
  readonly empty_periods: readonly string[];
}

export interface FailureSummary {
  readonly code: FailureCode;
  readonly slice: string | null;
  readonly window: string | null;
  readonly message: string;
  readonly hint: string | null;
  /** How many failures of one cause it represents; 1 by default. */
  readonly count?: number;
}

export interface SyncSummary {
  readonly run_id: string;
  readonly status: 'succeeded' | 'partial' | 'failed' | 'interrupted';
  readonly as_of: string;
  readonly started_at: string;
  readonly finished_at: string;
  readonly slices: readonly SliceSummary[];
  readonly partners: { readonly rows: number };
  readonly links: { readonly rows: number; readonly removed: number };
  readonly service: {
    readonly requests: number;
    readonly retries: number;
    readonly peak_concurrency: number;
    readonly bytes: number;
  };
  readonly published: readonly {
    readonly kind: string;
    readonly path: string;
    readonly files_written: number;
  }[];
  /** The audits that failed, and those that wait for a slice. */
  readonly audits: readonly AuditResult[];
  readonly failures: readonly FailureSummary[];
}

/** The counts of a slice before anything is done; the usual reasons are listed even at zero. */
function nothingDone(name: string) {
  const periods: Record<string, number> = { new: 0, maturing: 0, missing: 0 };
  return {
    name,
    windows: { planned: 0, loaded: 0, failed: 0 },
    requests: 0,
    rows: { fetched: 0, loaded: 0, rejected: 0 },
    periods,
    restated_periods: 0,
    empty_periods: new Array<string>(),
  };
}

export class RunRecord {
  readonly identity: RunStart;
  readonly #slices = new Map<string, ReturnType<typeof nothingDone>>();
  readonly #failures: {
    readonly slice: string | null;
    readonly window: string | null;
    readonly failure: Failure;
  }[] = [];
  /** `slice start` of each restated period. */
  readonly #restated = new Set<string>();
  #interrupted = false;
  #hasUnfinished = false;
  partnerRows = 0;
  links = { rows: 0, removed: 0 };
  audits: readonly AuditResult[] = [];
  readonly #published: Published[] = [];

  constructor(identity: RunStart) {
    this.identity = identity;
  }

  plan({ slice, windows }: SlicePlan): void {
    Object.assign(this.#of(slice.name).periods, periodsByReason(windows));
  }

  /** Counts a window that was neither loaded nor failed when the run ended. */
  leave({ slice }: Window): void {
    this.#of(slice.name).windows.planned += 1;
    this.#hasUnfinished = true;
  }

  countRequests(slice: Slice, requests: number): void {
    this.#of(slice.name).requests += requests;
  }

  /** Returns how many periods it restated that no other window of the run had restated before. */
  load({ window, fetched, rows, rejected, restated, empty }: Loaded): number {
    const { name } = window.slice;
    const counts = this.#of(name);
    const before = this.#restated.size;
    for (const start of restated) this.#restated.add(`${name} ${start}`);
    const restatedPeriods = this.#restated.size - before;
    counts.windows.planned += 1;
    counts.windows.loaded += 1;
    counts.rows.fetched += fetched;
    counts.rows.loaded += rows;
    counts.rows.rejected += rejected;
    counts.restated_periods += restatedPeriods;
    counts.empty_periods = mergeRanges([...counts.empty_periods, ...empty]);
    return restatedPeriods;
  }

  /** Records a failure of a window, of a slice by its name, or once of the whole run (credentials, deadline). */
  fail(failure: Failure, about: Window | string | null = null): void {
    if (about !== null && typeof about !== 'string') {
      const { windows } = this.#of(about.slice.name);
      windows.planned += 1;
      windows.failed += 1;
    }
    if (about === null && this.#failures.some((known) => known.failure.message === failure.message))
      return;
    this.#failures.push({ ...namesOf(about), failure });
  }

  /** Records a published copy, or the failure to publish it. */
  published(outcome: Published | Failure): void {
    if (outcome instanceof Failure) this.fail(outcome);
    else this.#published.push(outcome);
  }

  interrupt(): void {
    this.#interrupted = true;
  }

  /** Whether a planned window was neither loaded nor failed. */
  get hasUnfinished(): boolean {
    return this.#hasUnfinished;
  }

  get hasLoaded(): boolean {
    return [...this.#slices.values()].some(({ windows }) => windows.loaded > 0);
  }

  get failures(): readonly Failure[] {
    return this.#failures.map(({ failure }) => failure);
  }

  get exitCode(): number {
    return exitCodeOf(this.failures);
  }

  summary(finishedAt: Date, service: ServiceStatistics): SyncSummary {
    const { runId, planAt, startedAt } = this.identity;
    return {
      run_id: runId,
      status: this.#status(),
      as_of: planAt.toISOString(),
      started_at: startedAt.toISOString(),
      finished_at: finishedAt.toISOString(),
      slices: [...this.#slices.values()],
      partners: { rows: this.partnerRows },
      links: this.links,
      service: {
        requests: service.requests,
        retries: service.retries,
        peak_concurrency: service.peakConcurrency,
        bytes: service.bytes,
      },
      published: this.#published,
      audits: this.audits,
      failures: this.#failures.map(({ slice, window, failure: { code, message, hint } }) => {
        return { code, slice, window, message, hint };
      }),
    };
  }

  #status(): SyncSummary['status'] {
    if (this.#interrupted) return 'interrupted';
    if (this.#failures.length === 0) return 'succeeded';
    return this.hasLoaded ? 'partial' : 'failed';
  }

  #of(slice: string): ReturnType<typeof nothingDone> {
    const counts = this.#slices.get(slice) ?? nothingDone(slice);
    this.#slices.set(slice, counts);
    return counts;
  }
}

/** The slice and window named by an event about a window, a slice by its name (no window), or the whole run (neither). */
export function namesOf(about: Window | string | null): Pick<FailureSummary, 'slice' | 'window'> {
  if (about === null || typeof about === 'string') return { slice: about, window: null };
  return { slice: about.slice.name, window: labelOf(about) };
}

/** Stretches of days, `first:last`, in order; adjacent and overlapping ones are joined, whichever windows they are from. */
function mergeRanges(ranges: readonly string[]): string[] {
  const joined: { readonly first: string; last: Day }[] = [];
  for (const range of ranges.toSorted()) {
    const [first = '', last = ''] = range.split(':');
    const before = joined.at(-1);
    // Windows with different metrics of a cube may have days in common.
    if (before === undefined || first > addDays(before.last, 1))
      joined.push({ first, last: day(last) });
    else if (last > before.last) before.last = day(last);
  }
  return joined.map(({ first, last }) => `${first}:${last}`);
}
