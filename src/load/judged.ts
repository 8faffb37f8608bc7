/** From judged windows to results: which of their periods are believed, which are replaced together, and which warnings they get. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { count, dayShape } from '../warehouse/sql.ts';
import type { Rejects } from './check.ts';
import { emptyStretches, lossFailure, sharesOf } from './guard.ts';
import { knownPeriods, type Replaceable } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult, LoadWarning } from './load-result.ts';
import type { Judged } from './proof.ts';
import { replaceWindows } from './replace.ts';
import { rememberAdditivity } from '../tables/slice-metrics.ts';
import type { Staged } from './staged-sql.ts';
import { periodsWith } from './table-sql.ts';
import { cubeOf } from '../tables/target.ts';
import { countCells } from './window-sql.ts';

/** Periods of a window that are replaced, with what is told of them. */
interface Share {
  readonly load: Replaceable;
  /** Of the first the warnings about the whole answer. */
  readonly warnings: readonly LoadWarning[];
  /** Stretches of periods without rows. */
  readonly empty: readonly string[];
}

/**
 * Replaces the periods whose answer is believed; the others are requested again, or kept as they are stored. Windows that are
 * believed whole, and of which nothing is left out, are replaced together; any other alone.
 */
export async function replaceJudged(all: readonly Judged[], staged: Staged, request: LoadRequest): Promise<Loaded> {
  const { warehouse, acceptLoss } = request;
  const results: LoadResult[] = [];
  const plain: Share[] = [];
  const others: Share[] = [];
  const windows = all.map(({ sound }) => sound.spooled.window);
  const knownOf = await knownPeriods(warehouse, request.target, windows);
  const cells = await cellsIn(all, staged, request);
  for (const judged of all) {
    const { sound } = judged;
    const whole = sound.spooled.window;
    const fetchedAt = request.fetchedAt ?? sound.spooled.requestedAt;
    const known = knownOf(whole);
    const answered = answeredRows(judged, cells(sound.windowNo));
    const emptied = await emptiedBy(judged, request);
    const counts = { answered: new Map([...answered, ...emptied.periods]), known };
    const shares = sharesOf(whole, counts, { fetchedAt, acceptLoss, isRepeated: sound.spooled.attempt > 0 });
    const first = shares.find(({ fate }) => fate === 'load');
    for (const share of shares) {
      const { fate, window } = share;
      if (fate === 'load') {
        const rows = rowsIn(window, judged);
        const rejects = rejectsIn(window, judged);
        const empty = emptyStretches(window, answered);
        const warnings = [...(share === first ? warningsOf(judged) : []), ...emptyWarning(empty)];
        const load = { judged, window, rows, rejects, fetchedAt, known };
        const isPlain = judged.copies === 0 && judged.rejects === null && window === whole;
        (isPlain ? plain : others).push({ load, warnings, empty });
      } else if (fate !== 'newer') {
        const failure = lossFailure(share, counts, `${subjectOf(window)}${emptied.clause}`);
        results.push({ kind: fate === 'doubt' ? 'ask again' : 'failed', window, failure });
      }
    }
  }
  let { target } = request;
  for (const group of [plain, ...others.map((each) => [each])]) {
    if (group.length === 0) continue;
    const replaced = await replaceGroup(group, group === plain, staged, { ...request, target });
    ({ target } = replaced);
    results.push(...replaced.results);
  }
  return { results, target };
}

async function replaceGroup(
  group: readonly Share[],
  isPlain: boolean,
  staged: Staged,
  { warehouse, runId, target }: LoadRequest,
): Promise<Loaded> {
  const loads = group.map(({ load }) => load);
  const replaced = await replaceWindows(warehouse, target, { loads, staged, isPlain, runId });
  const results = group.map(({ load: { window, rows, rejects, judged }, warnings, empty }, at): LoadResult => {
    const isWhole = window === judged.sound.spooled.window;
    const { rows: stored = 0, restatedPeriods = 0 } = replaced.windows[at] ?? {};
    const fetched = isWhole ? fetchedRows(judged) : rows;
    return {
      kind: 'loaded',
      window,
      fetched,
      rows: stored,
      rejected: rejects.days.length,
      restatedPeriods,
      empty,
      warnings,
    };
  });
  const shown = {
    notAdditive: loads.flatMap(({ judged }) => judged.notAdditive),
    addsUp: loads.flatMap(({ judged }) => judged.addsUp),
  };
  const seenAt = loads[0]?.fetchedAt ?? new Date(0);
  return { results, target: await rememberAdditivity(warehouse, replaced.target, shown, seenAt) };
}

const emptiedRow = z.object({ start_day: dayShape });

/**
 * The periods in which a batch without rows would take stored values away, each with 0 for its rows, as what rows the other batches
 * have says nothing of it; and the batch as a clause. The values of several parts are compared with their whole.
 */
async function emptiedBy(
  { sound: { answers, spooled } }: Judged,
  { warehouse, target }: LoadRequest,
): Promise<{ readonly periods: readonly (readonly [Day, number])[]; readonly clause: string }> {
  const { window } = spooled;
  const isInBatches = window.parts.length === 1 && answers.length > 1 && target.columns.cube === undefined;
  const empty = new Set(isInBatches ? answers.flatMap((each) => (each.rowCount === 0 ? each.metrics : [])) : []);
  const metrics = target.columns.metrics.filter(({ id }) => empty.has(id));
  const [first] = metrics;
  if (first === undefined) return { periods: [], clause: '' };
  const found = await warehouse.rows(periodsWith(metrics, target, window.replaced), [], emptiedRow);
  const clause = `, ${first.id}${metrics.length > 1 ? ` and ${metrics.length - 1} more metrics` : ''}`;
  return { periods: found.map(({ start_day: start }) => [start, 0]), clause };
}

const cellsRow = z.object({ window_no: z.number(), start_day: dayShape, rows: count });

/** Of a cube how many values of a window are not zero, by first day of the period; null for any other slice. */
async function cellsIn(
  [first]: readonly Judged[],
  { columns }: Staged,
  { warehouse, target: { slice } }: LoadRequest,
): Promise<(windowNo: number) => ReadonlyMap<Day, number> | null> {
  const cube = cubeOf(columns);
  if (cube === null || first === undefined) return () => null;
  const sql = countCells(cube, slice.grain, first.sound.spooled.window.replaced.start);
  const found = await warehouse.rows(sql, [], cellsRow);
  return (windowNo) =>
    new Map(found.flatMap((each) => (each.window_no === windowNo ? [[each.start_day, each.rows]] : [])));
}

/**
 * Rows that came by first day of the period, with those that are left out: a day of which all are is not empty. Of a cube the values
 * that are not zero, as rows of zeros come and go with the metrics that are requested beside them; one where there are only such rows.
 */
function answeredRows(
  { sound, periodRows, rejects }: Judged,
  cells: ReadonlyMap<Day, number> | null,
): ReadonlyMap<Day, number> {
  const answered = new Map(periodRows);
  for (const day of rejects?.days ?? []) {
    const of = sound.spooled.window.periods.find(
      ({ period: { bucket } }) => day !== null && bucket.start <= day && day < bucket.end,
    );
    const start = of?.period.bucket.start;
    if (start !== undefined) answered.set(start, (answered.get(start) ?? 0) + 1);
  }
  if (cells === null) return answered;
  return new Map([...answered].map(([start, rows]) => [start, Math.max(cells.get(start) ?? 0, Math.min(rows, 1))]));
}

const rowsIn = ({ periods }: Window, { periodRows }: Judged): number =>
  periods.reduce((sum, { period }) => sum + (periodRows.get(period.bucket.start) ?? 0), 0);

/** Rows that came; of batches, after they were joined. */
function fetchedRows({ sound: { answers, spooled }, periodRows, rejects }: Judged): number {
  const isJoined = answers.length > spooled.window.parts.length;
  if (!isJoined) return answers.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return [...periodRows.values()].reduce((sum, rows) => sum + rows, rejects?.days.length ?? 0);
}

/** The rejected rows of some periods of a window; one of which no day is known belongs to the first of them. */
function rejectsIn(part: Window, { sound, rejects }: Judged): Pick<Rejects, 'recorded' | 'days'> {
  const whole = sound.spooled.window;
  if (rejects === null || part === whole) return rejects ?? { recorded: [], days: [] };
  const { start, end } = part.replaced;
  const days = rejects.days.filter((day) => day === null || (day >= start && day < end));
  return { days, recorded: start === whole.replaced.start ? rejects.recorded : [] };
}

/** The warning about periods for which the service had no rows. */
function emptyWarning(stretches: readonly string[]): LoadWarning[] {
  if (stretches.length === 0) return [];
  const message = `The service had no rows for ${stretches.join(', ')}; loaded as empty, which is final once two runs after the end of a period agree on it.`;
  return [{ code: 'EMPTY_PERIODS', message }];
}

/** What is odd about an answer that is loaded all the same. */
function warningsOf({ sound, copies, rejects, warnings, notAdditive }: Judged): LoadWarning[] {
  const all: LoadWarning[] = [...sound.warnings, ...warnings];
  const rejected = rejects?.days.length ?? 0;
  if (copies > 0) {
    const message = `${copies} identical rows came more than once; one of each was kept.`;
    all.push({ code: 'DUPLICATE_ROWS', message });
  }
  if (rejected > 0) {
    const message = `${rejected} rows could not be stored exactly; see ripen.rejected_rows.`;
    all.push({ code: 'REJECTED_ROWS', message });
  }
  for (const metric of new Set(notAdditive)) {
    const message = `The rows' ${metric} did not add up to the service's total while other metrics did: it is not additive here, and no longer summed.`;
    all.push({ code: 'NOT_ADDITIVE', message });
  }
  return all;
}
