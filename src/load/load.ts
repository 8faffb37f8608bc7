/**
 * Loads spooled answers: reads pages into Parquet files (`read-pages`), judges them (`answer-pages`), stages and counts their
 * rows (`facts`), decides on each window (`decide`), and replaces and records accepted periods in one transaction (`replace`,
 * `load-ledger`). Nothing is deleted before the answers are shown to be whole reports with the requested keys, inside their
 * days, unique, exact, and complete by the service's own totals.
 */

import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { partId, subjectOf } from '../model/window.ts';
import { type Answer, plainBytesOf, requestedAtOf, type Spooled } from '../extract/spool.ts';
import { keptPeriods, type LostApps, rowsOfLost } from '../warehouse/tables/lost-apps.ts';
import { saveAdditivity } from '../warehouse/tables/slice-metrics.ts';
import type { Target } from '../warehouse/tables/target.ts';
import { setThreadsFor } from '../warehouse/opening.ts';
import { asScript } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { judgePages, maturityOf } from './answer-pages.ts';
import {
  type Outcome,
  pagesOf,
  type Readable,
  type ReadableAnswer,
  type Reject,
  type Replacement,
} from './answered.ts';
import { type NightControl, readNightTotals, recordTotals } from './control-totals.ts';
import { decide } from './decide.ts';
import { readAnswered } from './facts.ts';
import { readValues } from './known-values.ts';
import { recordingRejects, storedPeriods } from './load-ledger.ts';
import { removeNamed, rowsWithout } from './lost-apps.ts';
import { columnsFor, type ReadPages } from './read-pages.ts';
import { replaceWindows, type TableReplacements } from './replace.ts';
import { type Staged, stagedOf, WINDOW } from './staged-sql.ts';

/** Spooled windows of one slice and the same metrics, no two of which replace the same rows. */
export interface SliceBatch {
  readonly spooled: readonly Spooled[];
  readonly target: Target;
  readonly acceptLoss: boolean;
  readonly control: NightControl | null;
}

export interface Loading {
  readonly warehouse: Warehouse;
  readonly runId: string;
  /** The fetch instant for every finality decision; null for the instant each window was requested. */
  readonly fetchedAt: Date | null;
  /** An app leaves as soon as an answer of this run names it. */
  readonly lost: LostApps;
  /** Of archived answers, each says of itself alone that an app was listed. */
  readonly isReplay: boolean;
  readonly read: Pick<ReadPages, 'readAll' | 'of'>;
}

interface LoadedBatch {
  /** Several per window if its periods have different fates, none for periods that a later fetch loaded. */
  readonly outcomes: readonly Outcome[];
  readonly target: Target;
}

/** One window may cause them for its whole batch. */
const perhapsOfOne: ReadonlySet<FailureCode> = new Set(['BUG', 'ENGINE_MEMORY']);

/**
 * Loads batches of slices together, as a commit takes as long for one as for twenty. If that fails, loads each by itself, and
 * where one window may be the cause, window by window. Throws `STORAGE_FAILED`.
 */
export async function loadBatches(
  batches: readonly SliceBatch[],
  loading: Loading,
): Promise<readonly LoadedBatch[]> {
  try {
    const loaded = await load(batches, loading);
    if (loaded !== null) return loaded;
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code === 'STORAGE_FAILED') throw failure;
    const [batch] = batches;
    const isOne = batches.length === 1 && batch !== undefined;
    if (isOne && (batch.spooled.length === 1 || !perhapsOfOne.has(failure.code)))
      return [
        { outcomes: batch.spooled.map((each) => failed(each, failure)), target: batch.target },
      ];
  }
  const results: LoadedBatch[] = [];
  for (const batch of batches) {
    const outcomes: Outcome[] = [];
    let { target } = batch;
    const apart = batches.length > 1 ? [batch.spooled] : batch.spooled.map((spooled) => [spooled]);
    for (const spooled of apart) {
      const [loaded] = await loadBatches([{ ...batch, spooled, target }], loading);
      outcomes.push(...(loaded?.outcomes ?? []));
      target = loaded?.target ?? target;
    }
    results.push({ outcomes, target });
  }
  return results;
}

function failed(spooled: Spooled, failure: Failure): Outcome {
  const { window } = spooled;
  if (failure.code !== 'ENGINE_MEMORY') return { kind: 'failed', window, failure };
  const answers = spooled.answers.filter(({ box }) => box.control === null);
  const bytes = Math.max(...answers.map((answer) => plainBytesOf([answer])));
  const heavy = answers.filter((answer) => plainBytesOf([answer]) === bytes);
  const message = `${subjectOf(window)}: an answer of ${Math.round(bytes / 1_000_000)} MB took more memory to load than the database has.`;
  const hint =
    'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.';
  const tooHeavy = new Failure('SOURCE_TOO_HEAVY', message, { hint });
  const parts = new Set(heavy.map(({ box }) => partId(box.part)));
  const none = { shortfall: null, values: new Map() };
  return { kind: 'split', window, spooled, failure: tooHeavy, parts, ...none };
}

interface StagedBatch extends SliceBatch {
  readonly staged: Staged;
  readonly result: { target: Target; readonly outcomes: Outcome[] };
}

/** Returns null if no type holds the numbers of all windows of a batch: one may hold those of each. Throws `ENGINE_MEMORY`. */
async function load(
  batches: readonly SliceBatch[],
  loading: Loading,
): Promise<readonly LoadedBatch[] | null> {
  const { warehouse, read, isReplay } = loading;
  const lost: LostApps = isReplay ? new Map(loading.lost) : loading.lost;
  const results: StagedBatch['result'][] = [];
  const stagedBatches: StagedBatch[] = [];
  for (const batch of batches) {
    const { spooled, target } = batch;
    await read.readAll(spooled, target);
    const result: StagedBatch['result'] = { target, outcomes: [] };
    results.push(result);
    const windows: Readable[] = [];
    for (const each of spooled) {
      const window = readableOf(each, windows.length, loading);
      const failure = window.answers.find((answer) => answer.failure !== null)?.failure ?? null;
      if (failure === null) windows.push(window);
      else result.outcomes.push({ kind: 'failed', window: each.window, failure });
    }
    const [first, ...others] = windows;
    if (first === undefined) continue;
    const columns = columnsFor(target.columns, windows.flatMap(pagesOf));
    if (columns !== null) {
      const batchNo = stagedBatches.length;
      const staged = stagedOf([first, ...others], target.slice, columns, batchNo);
      stagedBatches.push({ ...batch, staged, result });
      continue;
    }
    if (batches.length > 1 || spooled.length > 1) return null;
    const { window } = first.spooled;
    const message = `${subjectOf(window)}: no decimal has enough digits for all numbers of a metric.`;
    const hint =
      target.columns.value === undefined
        ? 'Set `types: { name: DOUBLE }` for the metric with the longest numbers, to store the nearest floating-point value.'
        : 'Move the cohort with the longest numbers to a slice of its own, as all values of a cube have one type.';
    const failure = new Failure('DATA_REJECTED', message, { hint });
    result.outcomes.push({ kind: 'failed', window, failure });
  }
  if (stagedBatches.length === 0) return results;
  const bytes = plainBytesOf(
    stagedBatches.flatMap(({ staged }) => staged.windows.flatMap(({ spooled }) => spooled.answers)),
  );
  const metrics = Math.max(...stagedBatches.map(({ staged }) => staged.columns.metrics.length));
  await setThreadsFor(warehouse, bytes, metrics);
  const answered = await readAnswered(
    stagedBatches.map(({ staged }) => staged),
    warehouse,
  );
  for (const { staged } of stagedBatches) await removeNamed(lost, staged, warehouse);
  const windows = answered.flat().map(({ spooled }) => spooled.window);
  const stored = await storedPeriods(warehouse, windows);
  const slices = stagedBatches.map(({ target: { slice } }) => slice);
  const keptBySlice = await keptPeriods(warehouse, slices, lost);
  const totals = await readNightTotals(
    warehouse,
    stagedBatches.map(({ target: { slice }, control, staged }) => {
      const periods = staged.windows.flatMap(({ spooled }) => spooled.window.periods);
      return { slice, control, starts: periods.map(({ period }) => period.bucket.start) };
    }),
  );
  const tables: (TableReplacements & StagedBatch)[] = [];
  const rejects: Reject[] = [];
  for (const [batchNo, batch] of stagedBatches.entries()) {
    const { target, staged, acceptLoss, result } = batch;
    const { slice } = target;
    const kept = rowsOfLost(lost, slice);
    const replaced = kept === null ? null : await rowsWithout(kept, batch, warehouse);
    const statedTotals = totals.get(slice.name) ?? new Map();
    const replacements: Replacement[] = [];
    for (const each of answered[batchNo] ?? []) {
      const { window } = each.spooled;
      const policy = {
        acceptLoss,
        stored: stored(window, { kept: keptBySlice.get(slice.name), rows: replaced }),
        totals: batch.control?.isDoubted === true ? new Map() : statedTotals,
        stated: statedTotals,
      };
      const fates = decide(each, policy);
      for (const fate of fates) {
        if (fate.kind === 'replace') replacements.push(fate);
        else if (fate.kind === 'split' && window.periods.length === 1) {
          // A window of several periods is divided by days, not by values.
          const rows = `${staged.typed} where ${WINDOW} = ${each.windowNo}`;
          const values = await readValues(warehouse, slice, rows);
          result.outcomes.push({ ...fate, values });
        } else result.outcomes.push(fate);
      }
      const kinds = new Set(fates.map(({ kind }) => kind));
      // Otherwise they are recorded with what is loaded.
      if (kinds.has('failed') && !kinds.has('replace'))
        rejects.push(...(each.rejects?.recorded ?? []));
    }
    if (replacements.length > 0) tables.push({ ...batch, replacements, lost: kept });
  }
  const controls = tables.filter(({ target }) => target.slice.control !== undefined);
  for (const [at, loaded] of (await recordTotals(controls, loading)).entries())
    controls[at]?.result.outcomes.push(...loaded);
  const others = tables.filter((table) => !controls.includes(table));
  for (const [at, { loaded, target }] of (await replaceWindows(others, loading)).entries()) {
    const { result, replacements = [] } = others[at] ?? {};
    const [first] = replacements;
    if (result === undefined || first === undefined) continue;
    result.outcomes.push(...loaded);
    const shown = {
      notAdditive: replacements.flatMap(({ notAdditive }) => notAdditive),
      addsUp: replacements.flatMap(({ addsUp }) => addsUp),
    };
    result.target = await saveAdditivity(warehouse, target, shown, first.answered.fetchedAt);
  }
  const recorded = await recordingRejects(rejects, loading);
  if (recorded.length > 0) await warehouse.run(asScript(recorded));
  return results;
}

function readableOf(spooled: Spooled, windowNo: number, { fetchedAt, read }: Loading): Readable {
  const { window } = spooled;
  const readable = ({ box, unfollowed, ...answer }: Answer, answerNo: number): ReadableAnswer => {
    const pages = answer.pages.map((page, pageNo) =>
      Object.assign({ windowNo, answerNo, pageNo }, read.of(page)),
    );
    const bodies = pages.map(({ body }) => body);
    return { ...judgePages(window, box, bodies), box, unfollowed, pages };
  };
  const answers = spooled.answers.filter(({ box }) => box.control === null).map(readable);
  return {
    spooled,
    windowNo,
    fetchedAt: fetchedAt ?? requestedAtOf(spooled.answers),
    answers,
    controls: spooled.answers.filter(({ box }) => box.control !== null).map(readable),
    maturity: maturityOf(
      window,
      answers.flatMap(({ maturity }) => maturity),
    ),
  };
}
