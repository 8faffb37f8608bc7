/** Folds the events of a run into its summary, whose shape, as `--json` prints it, is public interface. */

import type { FailureCode } from '../errors.ts';
import type { RunEvent } from '../events.ts';
import { addDays, day, unionOf } from '../model/calendar.ts';
import { sumOf } from '../model/measure.ts';
import { labelOf } from '../model/window.ts';
import type { AuditResult } from '../publish/audits.ts';
import type { ServiceStatistics } from '../service/service.ts';
import type { RunFailure } from '../report/status/status-report.ts';
import type { RunStart, SeenWarning } from '../warehouse/runs.ts';

/** What a run did with a slice. */
export interface SliceSummary {
  readonly name: string;
  readonly windows: { planned: number; loaded: number; failed: number };
  requests: number;
  readonly rows: { fetched: number; loaded: number; rejected: number };
  /** Number of periods by the reason they were due: `new`, `missing`, `open`, `maturing`, … */
  readonly periods: Record<string, number>;
  restated_periods: number;
  /** Stretches of periods that were loaded without rows, `first:last`, both inclusive. */
  empty_periods: readonly string[];
}

export type FailureSummary = Omit<RunFailure, 'resolved'> & { readonly code: FailureCode };

export const failuresIn = (summarized: readonly Pick<FailureSummary, 'count'>[]): number =>
  sumOf(summarized.map(({ count = 1 }) => count));

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

/** Counts the events of a run. The summary, the exit code and the progress display are read from it. */
export class RunRecord {
  readonly #slices = new Map<string, SliceSummary>();
  /** `slice start` of each restated period: a cube requests a period in several windows. */
  readonly #restated = new Set<string>();
  readonly #failures: FailureSummary[] = [];
  readonly #published: SyncSummary['published'][number][] = [];
  #warnings: SeenWarning[] = [];
  #partners = 0;
  readonly #links = { rows: 0, removed: 0 };
  audits: readonly AuditResult[] = [];

  add(event: RunEvent): void {
    const { type } = event;
    if (type === 'slice_planned') {
      const { windows, periods } = this.#of(event.slice);
      windows.planned += event.windows;
      Object.assign(periods, event.periods);
    } else if (type === 'window_split') {
      // Values divide a window into parts of one.
      if (event.by === 'days') this.#of(event.slice).windows.planned += event.into - 1;
    } else if (type === 'windows_regrouped') {
      this.#of(event.slice).windows.planned += event.into - event.from;
    } else if (type === 'window_fetched' || type === 'window_missed') {
      this.#of(event.slice).requests += event.requests;
    } else if (type === 'window_loaded') {
      const counts = this.#of(event.slice);
      counts.windows.loaded += 1;
      counts.rows.fetched += event.fetched;
      counts.rows.loaded += event.rows;
      counts.rows.rejected += event.rejected;
      const restatedBefore = this.#restated.size;
      for (const start of event.restated) this.#restated.add(`${event.slice} ${start}`);
      counts.restated_periods += this.#restated.size - restatedBefore;
      // Windows with different metrics of a cube may have days in common.
      const empty = [...counts.empty_periods, ...event.empty].map((stretch) => {
        const [first = '', last = ''] = stretch.split(':');
        return { start: day(first), end: addDays(day(last), 1) };
      });
      counts.empty_periods = unionOf(empty).map((requested) => labelOf({ requested }));
    } else if (type === 'failed') {
      const { type: _, ...failure } = event;
      const { slice, window } = failure;
      if (slice !== null && window !== null) this.#of(slice).windows.failed += 1;
      this.#failures.push(failure);
    } else if (type === 'warning') {
      this.#warnings.push({ ...event, seenAt: new Date() });
    } else if (type === 'links_loaded') {
      this.#links.removed += event.removed;
    } else if (type === 'dimensions_stored') {
      this.#partners = event.partners;
      this.#links.rows = event.links;
    } else if (type === 'published') {
      const { kind, path, filesWritten } = event;
      this.#published.push({ kind, path, files_written: filesWritten });
    }
  }

  get slices(): readonly SliceSummary[] {
    return [...this.#slices.values()];
  }

  get failures(): readonly FailureSummary[] {
    return this.#failures;
  }

  get hasUnfinished(): boolean {
    return this.slices.some(({ windows }) => windows.loaded + windows.failed < windows.planned);
  }

  get hasLoaded(): boolean {
    return this.slices.some(({ windows }) => windows.loaded > 0);
  }

  takeWarnings(): readonly SeenWarning[] {
    const warnings = this.#warnings;
    this.#warnings = [];
    return warnings;
  }

  summary(
    { runId, planAt, startedAt }: RunStart,
    finishedAt: Date,
    isInterrupted: boolean,
    { requests, retries, peakConcurrency, bytes }: ServiceStatistics,
  ): SyncSummary {
    const outcome = this.hasLoaded ? 'partial' : 'failed';
    const ended = this.#failures.length === 0 ? 'succeeded' : outcome;
    return {
      run_id: runId,
      status: isInterrupted ? 'interrupted' : ended,
      as_of: planAt.toISOString(),
      started_at: startedAt.toISOString(),
      finished_at: finishedAt.toISOString(),
      slices: this.slices,
      partners: { rows: this.#partners },
      links: this.#links,
      service: { requests, retries, peak_concurrency: peakConcurrency, bytes },
      published: this.#published,
      audits: this.audits,
      failures: this.#failures,
    };
  }

  #of(name: string): SliceSummary {
    const counts = this.#slices.get(name) ?? {
      name,
      windows: { planned: 0, loaded: 0, failed: 0 },
      requests: 0,
      rows: { fetched: 0, loaded: 0, rejected: 0 },
      // The usual reasons are listed even at zero.
      periods: { new: 0, maturing: 0, missing: 0 },
      restated_periods: 0,
      empty_periods: [],
    };
    this.#slices.set(name, counts);
    return counts;
  }
}
