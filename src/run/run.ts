/** One run: what it was started with, what it did so far, how that is recorded and told, and its summary at the end. Decides nothing. */

import type { Config } from '../config/config.ts';
import { exitCodeOf, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { LoadResult, LoadWarning } from '../load/load-result.ts';
import { addDays, day, type Day, type DayInterval } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, type Window } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import type { Publication, Published } from '../publish/publish.ts';
import type { ServiceStatistics } from '../service/service.ts';
import { learnParts } from '../warehouse/ledger.ts';
import { recordWarning } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { FailureSummary, SliceSummary, SyncSummary } from './summary.ts';

export interface RunRequest {
  readonly command: 'sync' | 'backfill' | 'replay';
  /** The instant that was stated to plan for, which also counts as the fetch; null: now, and when it was. */
  readonly asOf: Date | null;
  /** Names of the slices the run is about; null: all. */
  readonly slices: readonly string[] | null;
  readonly lockWaitMs: number;
  /** After this long nothing new is begun; null: never. */
  readonly deadlineMs: number | null;
  /** For `backfill`: exactly the periods that touch these days, whatever their state. */
  readonly forced: DayInterval | null;
  readonly acceptLoss: boolean;
}

/** What a run was started with, and what everything in it works on. */
export interface Run {
  readonly config: Config;
  readonly request: RunRequest;
  readonly warehouse: Warehouse;
  readonly slices: readonly Slice[];
  readonly record: RunRecord;
  readonly runId: string;
  /** The instant the run plans for. */
  readonly planAt: Date;
  readonly emit: Emit;
  /** Aborted by a signal or the deadline. */
  readonly signal: AbortSignal;
}

/** Counts and tells the windows a slice is to get, and what is left as it is because a later fetch brought it. */
export async function recordPlan(plan: SlicePlan, run: Run): Promise<void> {
  const { record, emit } = run;
  record.plan(plan);
  const periods = plan.windows.reduce((sum, window) => sum + window.periods.length, 0);
  if (plan.heldNewer > 0) {
    const message = `${plan.heldNewer} periods are held from a fetch after the as-of instant, and were left as they are.`;
    await warn({ code: 'AS_OF_OLDER', message }, plan.slice.name, run);
  }
  emit({ type: 'slice_planned', slice: plan.slice.name, windows: plan.windows.length, periods });
  if (run.request.forced !== null && plan.heldNewer === 0) await recordForced(plan, run.request.forced, run);
}

/** Tells which of the days to load again were not asked for; a failure where none was. */
async function recordForced({ slice, windows }: SlicePlan, forced: DayInterval, run: Run): Promise<void> {
  const because = slice.grain === null ? 'lie outside its date period' : 'have not begun, or are let go by `retain`';
  const [first, last] = [windows.at(0)?.asked.start, windows.at(-1)?.asked.end];
  const days = labelOf({ asked: forced });
  if (first === undefined || last === undefined) {
    const message = `slice ${slice.name}: the days ${days} were not asked for: they ${because}.`;
    const hint = 'Give days that the slice covers or may cover.';
    recordFailed(new Failure('USAGE_INVALID', message, { hint }), slice.name, run);
  } else if (forced.start < first || last < forced.end) {
    const asked = labelOf({ asked: { start: first, end: last } });
    const message = `Of the days ${days} only ${asked} were asked for: the others ${because}.`;
    await warn({ code: 'BACKFILL_CUT', message }, slice.name, run);
  }
}

/** Counts and tells a window that became visible, and remembers the parts it had to be asked for in. */
export async function recordLoaded(result: LoadedWindow, run: Run): Promise<void> {
  const { window, rows, restatedPeriods, warnings } = result;
  const { name } = window.slice;
  run.record.load(window.slice, result);
  if (window.parts.length > 1) {
    await learnParts(run.warehouse, { slice: name, fingerprint: window.fingerprint }, window.parts, run.planAt);
  }
  run.emit({ type: 'window_loaded', slice: name, window: labelOf(window), rows, restatedPeriods });
  for (const warning of warnings) await warn(warning, window, run);
}

/** Counts and tells a failure of a window, or of something else about a slice, which is then named. */
export function recordFailed(
  failure: Failure,
  about: Window | string,
  { record, emit }: Pick<Run, 'record' | 'emit'>,
): void {
  const { code, message, hint } = failure;
  record.fail(failure, typeof about === 'string' ? { slice: about } : { window: about });
  emit({ type: 'failed', code, ...namesOf(about), message, hint });
}

/** Records and tells a warning about a window, about a slice by its name, or about the whole run. */
export async function warn(
  { code, message }: LoadWarning,
  about: Window | string | null,
  { warehouse, runId, emit }: Pick<Run, 'warehouse' | 'runId' | 'emit'>,
): Promise<void> {
  const names = namesOf(about);
  const days = about === null || typeof about === 'string' ? null : about.asked;
  await recordWarning(warehouse, { runId, slice: names.slice, days, code, message });
  emit({ type: 'warning', code, ...names, message });
}

function namesOf(about: Window | string | null): { readonly slice: string | null; readonly window: string | null } {
  if (about === null || typeof about === 'string') return { slice: about, window: null };
  return { slice: about.slice.name, window: labelOf(about) };
}

type LoadedWindow = Extract<LoadResult, { readonly kind: 'loaded' }>;

interface SliceCounts {
  planned: number;
  loaded: number;
  failed: number;
  requests: number;
  fetched: number;
  loadedRows: number;
  rejected: number;
  restated: number;
  readonly empty: string[];
  readonly periods: Map<string, number>;
}

interface RunIdentity {
  readonly runId: string;
  readonly command: string;
  readonly planAt: Date;
  readonly startedAt: Date;
}

export class RunRecord {
  readonly identity: RunIdentity;
  readonly #slices = new Map<string, SliceCounts>();
  readonly #failures: { readonly window: Window | null; readonly slice: string | null; readonly failure: Failure }[] =
    [];
  #interrupted = false;
  partnerRows = 0;
  links = { rows: 0, removed: 0 };
  readonly #published: Published[] = [];

  constructor(identity: RunIdentity) {
    this.identity = identity;
  }

  plan({ slice, windows }: SlicePlan): void {
    const counts = this.#of(slice);
    counts.planned += windows.length;
    for (const { reason } of windows.flatMap((window) => window.periods)) {
      counts.periods.set(reason, (counts.periods.get(reason) ?? 0) + 1);
    }
  }

  /** A window took another's place: halves of one that was too heavy, or newly aligned ones. */
  replan(slice: Slice, gone: number, come: number): void {
    this.#of(slice).planned += come - gone;
  }

  asked(slice: Slice, requests: number): void {
    this.#of(slice).requests += requests;
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
    const counts = this.#of(slice);
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
    if (window !== null) this.#of(window.slice).failed += 1;
    const isWholeRun = window === null && where.slice === undefined;
    if (isWholeRun && this.#failures.some((known) => known.failure.message === failure.message)) return;
    this.#failures.push({ window, slice: window?.slice.name ?? where.slice ?? null, failure });
  }

  publish({ published, failures }: Publication): void {
    this.#published.push(...published);
    for (const failure of failures) this.fail(failure);
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

  #of(slice: Slice): SliceCounts {
    const known = this.#slices.get(slice.name);
    if (known !== undefined) return known;
    const fresh = {
      planned: 0,
      loaded: 0,
      failed: 0,
      requests: 0,
      fetched: 0,
      loadedRows: 0,
      rejected: 0,
      restated: 0,
      empty: [],
      periods: new Map<string, number>(),
    };
    this.#slices.set(slice.name, fresh);
    return fresh;
  }
}

/** The reasons that are always listed, also at zero. */
const listedReasons = ['new', 'maturing', 'missing'] as const;

function sliceSummary(name: string, counts: SliceCounts): SliceSummary {
  return {
    name,
    windows: { planned: counts.planned, loaded: counts.loaded, failed: counts.failed },
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
