/** From judged windows to results: which of their periods are believed, which are replaced together, and which warnings they get. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { formatColumnType } from '../model/column-type.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { count, dayShape } from '../warehouse/sql.ts';
import type { Sound } from './answers.ts';
import type { Found } from './check.ts';
import { emptyStretches, lossFailure, sharesOf } from './guard.ts';
import { knownPeriods, type Proven } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult, LoadWarning } from './load-result.ts';
import type { ProvenWindow } from './proof.ts';
import { replaceWindows } from './replace.ts';
import type { Rejects } from './rejects.ts';
import { rememberAdditivity } from './slice-metrics.ts';
import { countCells } from './cube-sql.ts';
import { periodsWith } from './sums-sql.ts';
import { type Columns, cubeOf } from './target.ts';
import type { Staged } from './staged-sql.ts';

/** A window whose rows may be loaded. */
export interface Judged extends ProvenWindow {
  readonly sound: Sound;
  readonly found: Found;
}

/** Neighbouring periods of a window that are to be replaced, the window whole if all of them are. */
interface Replaceable {
  readonly judged: Judged;
  readonly proven: Proven;
  /** Whether these are the first of its periods: what is odd about the whole answer is reported with them. */
  readonly isFirst: boolean;
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
  const plain: Replaceable[] = [];
  const others: Replaceable[][] = [];
  const windows = all.map(({ sound }) => sound.spooled.window);
  const knownOf = await knownPeriods(warehouse, request.target, windows);
  const cells = await cellsIn(warehouse, { ...request.target, columns: staged.columns }, all);
  for (const judged of all) {
    const { spooled } = judged.sound;
    const fetchedAt = request.fetchedAt ?? spooled.requestedAt;
    const known = knownOf(spooled.window);
    const answered = answeredRows(spooled.window, judged.found);
    const counts = { answered: cells.get(judged.sound.windowNo)?.(answered) ?? answered, known };
    const emptied = await emptiedBy(judged, request);
    const believed = { answered: new Map([...counts.answered, ...emptied.periods]), known };
    const shares = sharesOf(spooled.window, believed, { fetchedAt, acceptLoss, isRepeated: spooled.attempt > 0 });
    const first = shares.find(({ fate }) => fate === 'load');
    for (const share of shares) {
      const { fate, window } = share;
      if (fate === 'load') {
        const proven = provenOf(window, judged, known, fetchedAt);
        const empty = emptyStretches(window, counts.answered);
        const each = { judged, proven, isFirst: share === first, empty };
        if (isOrdinary(judged, staged, request) && window === spooled.window) plain.push(each);
        else others.push([each]);
      } else if (fate !== 'newer') {
        const failure = lossFailure(share, believed, `${subjectOf(window)}${emptied.clause}`);
        results.push({ kind: fate === 'doubt' ? 'ask again' : 'failed', window, failure });
      }
    }
  }
  let { target } = request;
  for (const group of [plain, ...others]) {
    if (group.length === 0) continue;
    const replaced = await replaceGroup(
      group,
      staged,
      { ...request, target },
      group === plain && target.slice.cube === undefined,
    );
    ({ target } = replaced);
    results.push(...replaced.results);
  }
  return { results, target };
}

const emptiedRow = z.object({ start_day: dayShape });

/**
 * The periods in which a batch without rows would take stored values away, each with 0 for its rows, as what rows the other batches
 * have says nothing of it; and the batch as a clause. The values of several parts are compared with their whole.
 */
async function emptiedBy(
  { sound: { answers, spooled } }: Judged,
  { warehouse, target: { table, slice, columns } }: LoadRequest,
): Promise<{ readonly periods: readonly (readonly [Day, number])[]; readonly clause: string }> {
  const { window } = spooled;
  const isInBatches = window.parts.length === 1 && answers.length > 1 && columns.cube === undefined;
  const empty = new Set(isInBatches ? answers.flatMap((each) => (each.rowCount === 0 ? each.metrics : [])) : []);
  const metrics = columns.metrics.filter(({ id }) => empty.has(id));
  const [first] = metrics;
  if (first === undefined) return { periods: [], clause: '' };
  const found = await warehouse.rows(periodsWith(metrics, table, slice.grain, window.replaced), [], emptiedRow);
  const clause = `, ${first.id}${metrics.length > 1 ? ` and ${metrics.length - 1} more metrics` : ''}`;
  return { periods: found.map(({ start_day: start }) => [start, 0]), clause };
}

const cellsRow = z.object({ window_no: z.number(), start_day: dayShape, rows: count });

/**
 * Of a cube, by window, what its rows count as: the values that are not zero, as rows of zeros come and go with the metrics that are
 * requested beside them; one where there are only such rows. Empty for any other slice.
 */
async function cellsIn(
  warehouse: LoadRequest['warehouse'],
  { slice, columns }: LoadRequest['target'],
  [first, ...others]: readonly Judged[],
): Promise<ReadonlyMap<number, (rows: ReadonlyMap<Day, number>) => ReadonlyMap<Day, number>>> {
  const cube = cubeOf(columns);
  if (cube === null || first === undefined) return new Map();
  const sql = countCells(cube, slice.grain, first.sound.spooled.window.replaced.start);
  const found = await warehouse.rows(sql, [], cellsRow);
  const cellsOf = (windowNo: number, start: Day): number =>
    found.find((each) => each.window_no === windowNo && each.start_day === start)?.rows ?? 0;
  return new Map(
    [first, ...others].map(({ sound: { windowNo } }) => [
      windowNo,
      (rows) =>
        new Map([...rows].map(([start, some]) => [start, Math.max(cellsOf(windowNo, start), Math.min(some, 1))])),
    ]),
  );
}

/** Whether what is stored of a window is what was read: each row once, as it came, in the types of the table. */
function isOrdinary({ found }: Judged, staged: Staged, { target: { slice, columns } }: LoadRequest): boolean {
  const types = (of: Columns): string => of.metrics.map(({ type }) => formatColumnType(type)).join();
  const isAsItCame = found.copies === 0 && found.rejects === undefined;
  return slice.grain !== null && isAsItCame && types(staged.columns) === types(columns);
}

function provenOf(window: Window, judged: Judged, known: Proven['known'], fetchedAt: Date): Proven {
  const { sound, found, verdict, comparisons, notAdditive } = judged;
  return {
    spooled: { ...sound.spooled, window },
    windowNo: sound.windowNo,
    rows: rowsIn(window, found.periodRows),
    periodRows: found.periodRows,
    rejects: rejectsIn(window, sound.spooled.window, found.rejects),
    collapse: found.copies > 0,
    isOrdered: found.isOrdered,
    verdict,
    proof: comparisons,
    notAdditive,
    fetchedAt,
    maturity: sound.maturity,
    known,
  };
}

async function replaceGroup(
  group: readonly Replaceable[],
  staged: Staged,
  { warehouse, runId, target }: LoadRequest,
  isPlain: boolean,
): Promise<Loaded> {
  const windows = group.map(({ proven }) => proven);
  const replaced = await replaceWindows(warehouse, target, { windows, staged, isPlain, runId });
  const results = group.map(({ judged, proven, isFirst, empty }, at): LoadResult => {
    const { window } = proven.spooled;
    const isWhole = window === judged.sound.spooled.window;
    return {
      kind: 'loaded',
      window,
      fetched: isWhole ? fetchedRows(judged) : proven.rows,
      rows: replaced.windows[at]?.rows ?? 0,
      rejected: proven.rejects.days.length,
      restatedPeriods: replaced.windows[at]?.restatedPeriods ?? 0,
      empty,
      warnings: [...(isFirst ? warningsOf(judged) : []), ...emptyWarning(empty)],
    };
  });
  const shown = {
    notAdditive: group.flatMap(({ judged }) => judged.notAdditive),
    addsUp: group.flatMap(({ judged }) => judged.addsUp),
  };
  const seenAt = windows[0]?.fetchedAt ?? new Date(0);
  return { results, target: await rememberAdditivity(warehouse, replaced.target, shown, seenAt) };
}

/** Rows that came; of batches, after they were joined. */
function fetchedRows({ sound: { answers, spooled }, found }: Judged): number {
  const isJoined = answers.length > spooled.window.parts.length;
  if (!isJoined) return answers.reduce((sum, { rowCount }) => sum + rowCount, 0);
  return [...found.periodRows.values()].reduce((sum, rows) => sum + rows, found.rejects?.days.length ?? 0);
}

/** Rows that came by first day of the period, with those that are left out: a day of which all are is not empty. */
function answeredRows({ periods }: Window, { periodRows, rejects }: Found): ReadonlyMap<Day, number> {
  const answered = new Map(periodRows);
  for (const day of rejects?.days ?? []) {
    const of = periods.find(({ period: { bucket } }) => day !== null && bucket.start <= day && day < bucket.end);
    const start = of?.period.bucket.start;
    if (start !== undefined) answered.set(start, (answered.get(start) ?? 0) + 1);
  }
  return answered;
}

function rowsIn({ periods }: Window, rows: ReadonlyMap<Day, number>): number {
  return periods.reduce((sum, { period }) => sum + (rows.get(period.bucket.start) ?? 0), 0);
}

/** The rejected rows of some periods of a window; one of which no day is known belongs to the first of them. */
function rejectsIn(part: Window, window: Window, rejects: Rejects | undefined): Pick<Rejects, 'recorded' | 'days'> {
  if (rejects === undefined || part === window) return rejects ?? { recorded: [], days: [] };
  const { start, end } = part.replaced;
  const isFirst = start === window.replaced.start;
  const days = rejects.days.filter((day) => day === null || (day >= start && day < end));
  return { days, recorded: isFirst ? rejects.recorded : [] };
}

/** The warning about periods for which the service had no rows. */
function emptyWarning(stretches: readonly string[]): LoadWarning[] {
  if (stretches.length === 0) return [];
  const message = `The service had no rows for ${stretches.join(', ')}; loaded as empty, which is final once two runs after the end of a period agree on it.`;
  return [{ code: 'EMPTY_PERIODS', message }];
}

/** What is odd about an answer that is loaded all the same. */
function warningsOf({ sound, found, warnings, notAdditive }: Judged): LoadWarning[] {
  const all: LoadWarning[] = [...sound.warnings, ...warnings];
  const { copies } = found;
  const rejected = found.rejects?.days.length ?? 0;
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
