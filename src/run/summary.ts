/** What a run did so far, and the summary of it as `--json` prints it, whose shape is public interface. Decides nothing. */

import { exitCodeOf, Failure, type FailureCode } from '../errors.ts';
import { addDays, day, type Day } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, type Window } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import type { Published } from '../publish/publish.ts';
import type { ServiceStatistics } from '../service/service.ts';
import type { RunStart } from '../warehouse/runs.ts';

export interface SliceSummary {
  readonly name: string;
  readonly windows: { readonly planned: number; readonly loaded: number; readonly failed: number };
  readonly requests: number;
  readonly rows: { readonly fetched: number; readonly loaded: number; readonly rejected: number };
  /** Periods by the reason they were due: `new`, `missing`, `open`, `maturing`, … */
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
  /** How many failures of one cause it stands for; 1 by default. */
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
  readonly published: readonly { readonly kind: string; readonly path: string; readonly files_written: number }[];
  readonly failures: readonly FailureSummary[];
}

const noCounts = () => ({
  planned: 0,
  loaded: 0,
  failed: 0,
  requests: 0,
  fetched: 0,
  loadedRows: 0,
  rejected: 0,
  restated: 0,
  empty: new Array<string>(),
  periods: new Map<string, number>(),
});

type SliceCounts = ReturnType<typeof noCounts>;

export class RunRecord {
  readonly identity: RunStart;
  readonly #slices = new Map<string, SliceCounts>();
  readonly #failures: { readonly window: Window | null; readonly slice: string | null; readonly failure: Failure }[] =
    [];
  #interrupted = false;
  partnerRows = 0;
  links = { rows: 0, removed: 0 };
  readonly #published: Published[] = [];

  constructor(identity: RunStart) {
    this.identity = identity;
  }

  plan({ slice, windows }: SlicePlan): void {
    const counts = this.#of(slice.name);
    for (const { reason } of windows.flatMap((window) => window.periods)) {
      counts.periods.set(reason, (counts.periods.get(reason) ?? 0) + 1);
    }
  }

  /** Counts the windows that a slice is to get beyond those it was to get so far; less than 0: that many fewer. */
  planMore(slice: string, windows: number): void {
    this.#of(slice).planned += windows;
  }

  asked(slice: Slice, requests: number): void {
    this.#of(slice.name).requests += requests;
  }

  load(
    slice: Slice,
    rows: {
      readonly fetched: number;
      readonly rows: number;
      readonly rejected: number;
      readonly restatedPeriods: number;
      readonly empty: readonly string[];
    },
  ): void {
    const counts = this.#of(slice.name);
    counts.loaded += 1;
    counts.fetched += rows.fetched;
    counts.loadedRows += rows.rows;
    counts.rejected += rows.rejected;
    counts.restated += rows.restatedPeriods;
    for (const stretch of rows.empty) counts.empty.push(stretch);
  }

  /** Records a failure; one that concerns the whole run (credentials, deadline) is recorded once. */
  fail(failure: Failure, where: { readonly window?: Window; readonly slice?: string } = {}): void {
    const window = where.window ?? null;
    if (window !== null) this.#of(window.slice.name).failed += 1;
    const isWholeRun = window === null && where.slice === undefined;
    if (isWholeRun && this.#failures.some((known) => known.failure.message === failure.message)) return;
    this.#failures.push({ window, slice: window?.slice.name ?? where.slice ?? null, failure });
  }

  /** Records what became of a copy. */
  published(outcome: Published | Failure): void {
    if (outcome instanceof Failure) this.fail(outcome);
    else this.#published.push(outcome);
  }

  interrupt(): void {
    this.#interrupted = true;
  }

  /** Whether any window was loaded. */
  get hasLoaded(): boolean {
    return [...this.#slices.values()].some(({ loaded }) => loaded > 0);
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
      slices: [...this.#slices].map(([name, counts]) => sliceSummary(name, counts)),
      partners: { rows: this.partnerRows },
      links: this.links,
      service: {
        requests: service.requests,
        retries: service.retries,
        peak_concurrency: service.peakConcurrency,
        bytes: service.bytes,
      },
      published: this.#published,
      failures: this.#failures.map(({ window, slice, failure }): FailureSummary => {
        const label = window === null ? null : labelOf(window);
        return { code: failure.code, slice, window: label, message: failure.message, hint: failure.hint };
      }),
    };
  }

  #status(): SyncSummary['status'] {
    if (this.#interrupted) return 'interrupted';
    if (this.#failures.length === 0) return 'succeeded';
    return this.hasLoaded ? 'partial' : 'failed';
  }

  #of(slice: string): SliceCounts {
    const counts = this.#slices.get(slice) ?? noCounts();
    this.#slices.set(slice, counts);
    return counts;
  }
}

/** The reasons that are always listed, also at zero. */
const listedReasons = ['new', 'maturing', 'missing'] as const;

function sliceSummary(name: string, counts: SliceCounts): SliceSummary {
  const { planned, loaded, failed } = counts;
  return {
    name,
    windows: { planned, loaded, failed },
    requests: counts.requests,
    rows: { fetched: counts.fetched, loaded: counts.loadedRows, rejected: counts.rejected },
    periods: {
      ...Object.fromEntries(listedReasons.map((reason) => [reason, 0])),
      ...Object.fromEntries(counts.periods),
    },
    restated_periods: counts.restated,
    empty_periods: joinedStretches(counts.empty),
  };
}

/** Stretches of days, `first:last`, in order; where one ends as the next begins, in whatever windows they came, they are one. */
function joinedStretches(stretches: readonly string[]): string[] {
  const joined: { first: Day; last: Day }[] = [];
  for (const stretch of stretches.toSorted()) {
    const [first, last] = [day(stretch.slice(0, DAY_WIDTH)), day(stretch.slice(-DAY_WIDTH))];
    const before = joined.at(-1);
    if (before !== undefined && addDays(before.last, 1) === first) before.last = last;
    else joined.push({ first, last });
  }
  return joined.map(({ first, last }) => `${first}:${last}`);
}

const DAY_WIDTH = '2026-01-01'.length;
