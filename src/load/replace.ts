/**
 * From judged windows to replaced ones: which of their periods are believed, which go together, and their rows,
 * restatements and ledger entries in one transaction.
 */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { transactRows } from '../warehouse/opening.ts';
import { count, dayShape, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Sound } from './answers.ts';
import type { Found } from './check.ts';
import { emptyStretches, lossFailure, sharesOf } from './guard.ts';
import {
  joined,
  type Known,
  knownPeriods,
  type Load,
  type Proven,
  recordLoads,
  recordPeriods,
  recordRejects,
  rememberAdditivity,
  type StoredLoad,
} from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult, LoadWarning } from './load-result.ts';
import type { ProvenWindow } from './proof.ts';
import { alterColumns } from './slice-table.ts';
import type { Rejects, Staged } from './stage.ts';
import type { Target } from './target.ts';
import { recordRestatements, totalAfter, totalPeriods } from './sums-sql.ts';
import { countUnfit, deleteDays, insertRows, insideDays } from './window-sql.ts';
import { blankWithheld, withholds } from './withheld.ts';

/** A window whose rows may be loaded. */
export interface Judged extends ProvenWindow {
  readonly sound: Sound;
  readonly found: Found;
}

/**
 * Replaces the periods whose answer is believed; the others are asked for again, or kept as they are held. Windows that are
 * believed whole, and of which nothing is left out, are replaced together; any other alone.
 */
export async function replaceJudged(judged: readonly Judged[], staged: Staged, request: LoadRequest): Promise<Loaded> {
  const { warehouse, acceptLoss } = request;
  const results: LoadResult[] = [];
  const plain: Replaceable[] = [];
  const others: Replaceable[] = [];
  const windows = judged.map(({ sound }) => sound.spooled.window);
  const knownOf = await knownPeriods(warehouse, request.target, windows);
  for (const each of judged) {
    const { spooled } = each.sound;
    const { window } = spooled;
    const fetchedAt = request.fetchedAt ?? spooled.requestedAt;
    const known: ReadonlyMap<Day, Known> = knownOf(window);
    const counts = { come: cameIn(window, each.found), known };
    const shares = sharesOf(window, counts, { fetchedAt, acceptLoss });
    for (const share of shares) {
      const { fate, window: mine } = share;
      if (fate === 'load') {
        const isFirst = share === shares.find((other) => other.fate === 'load');
        const isPlain = isOrdinary(each, staged, request) && mine === window;
        (isPlain ? plain : others).push({ ...each, mine, isFirst, fetchedAt, known, come: counts.come });
      } else if (fate !== 'newer') {
        const failure = lossFailure(share, counts, subjectOf(mine));
        results.push({ kind: fate === 'doubt' ? 'ask again' : 'failed', window: mine, failure });
      }
    }
  }
  let { target } = request;
  const groups = [{ isPlain: true, group: plain }, ...others.map((each) => ({ isPlain: false, group: [each] }))];
  for (const { isPlain, group } of groups) {
    if (group.length === 0) continue;
    const replaced = await replaceGroup(group, staged, { ...request, target }, isPlain);
    ({ target } = replaced);
    results.push(...replaced.results);
  }
  return { results, target };
}

/** Whether what is stored of a window is what `totals` counted: each row once, as it came, in the types of the table. */
function isOrdinary({ found }: Judged, staged: Staged, { target }: LoadRequest): boolean {
  const { slice, columns } = target;
  return (
    slice.grain !== null &&
    !withholds(slice) &&
    found.copies === 0 &&
    found.rejects === undefined &&
    staged.columns.metrics.every(({ type }, at) => type === columns.metrics[at]?.type)
  );
}

/** Periods of a window that are to be replaced. */
interface Replaceable extends Judged {
  /** The window, or some neighbouring periods of it. */
  readonly mine: Window;
  /** Whether these are the first of its periods: what is odd about the whole answer is told with them. */
  readonly isFirst: boolean;
  readonly fetchedAt: Date;
  readonly known: ReadonlyMap<Day, Known>;
  readonly come: ReadonlyMap<Day, number>;
}

async function replaceGroup(
  group: readonly Replaceable[],
  staged: Staged,
  request: LoadRequest,
  isPlain: boolean,
): Promise<Loaded> {
  const { warehouse, runId, target } = request;
  const windows = group.map((each): Proven => {
    const { sound, found, mine, fetchedAt, known } = each;
    return {
      spooled: { ...sound.spooled, window: mine },
      windowNo: sound.windowNo,
      rows: rowsIn(mine, found.periodRows),
      periodRows: found.periodRows,
      rejects: rejectsIn(mine, sound.spooled.window, found.rejects),
      collapse: found.copies > 0,
      isOrdered: found.isOrdered,
      verdict: each.verdict,
      proof: each.comparisons,
      notAdditive: each.notAdditive,
      fetchedAt,
      known,
    };
  });
  for (const { spooled, windowNo, fetchedAt } of windows) {
    await blankWithheld(warehouse, target, { window: spooled.window, windowNo, fetchedAt });
  }
  const replaced = await replaceWindows(warehouse, target, { windows, staged, isPlain, runId });
  const results = group.map((each, at): LoadResult => {
    const { sound, found, mine, come, isFirst } = each;
    const empty = emptyStretches(mine, come);
    return {
      kind: 'loaded',
      window: mine,
      fetched: mine === sound.spooled.window ? fetchedRows(sound) : rowsIn(mine, found.periodRows),
      rows: replaced.windows[at]?.rows ?? 0,
      rejected: windows[at]?.rejects.days.length ?? 0,
      restatedPeriods: replaced.windows[at]?.restatedPeriods ?? 0,
      empty,
      warnings: [...(isFirst ? warningsOf(each) : []), ...emptyWarning(empty)],
    };
  });
  return { results, target: await learnAdditivity(group, replaced.target, warehouse) };
}

async function learnAdditivity(group: readonly Replaceable[], target: Target, warehouse: Warehouse): Promise<Target> {
  const [first] = group;
  if (first === undefined) return target;
  const shown = {
    notAdditive: group.flatMap(({ notAdditive }) => notAdditive),
    addsUp: group.flatMap(({ addsUp }) => addsUp),
  };
  return rememberAdditivity(warehouse, target, shown, first.fetchedAt);
}

const fetchedRows = ({ parts }: Sound): number => parts.reduce((sum, { rowCount }) => sum + rowCount, 0);

/** Rows that came by first day of the period, with those that are left out: a day of which all are is not empty. */
function cameIn({ periods }: Window, { periodRows, rejects }: Found): ReadonlyMap<Day, number> {
  const come = new Map(periodRows);
  for (const day of rejects?.days ?? []) {
    const of = periods.find(({ period: { bucket } }) => day !== null && bucket.start <= day && day < bucket.end);
    const start = of?.period.bucket.start;
    if (start !== undefined) come.set(start, (come.get(start) ?? 0) + 1);
  }
  return come;
}

function rowsIn({ periods }: Window, rows: ReadonlyMap<Day, number>): number {
  return periods.reduce((sum, { period }) => sum + (rows.get(period.bucket.start) ?? 0), 0);
}

/** The rejected rows of some periods of a window; one of which no day is known is told with the first of them. */
function rejectsIn(mine: Window, window: Window, rejects: Rejects | undefined): Pick<Rejects, 'recorded' | 'days'> {
  if (rejects === undefined || mine === window) return rejects ?? { recorded: [], days: [] };
  const { start, end } = mine.replaced;
  const isFirst = start === window.replaced.start;
  const days = rejects.days.filter((day) => day === null || (day >= start && day < end));
  return { days, recorded: isFirst ? rejects.recorded : [] };
}

/** What is told of periods for which the service had no rows. */
function emptyWarning(stretches: readonly string[]): LoadWarning[] {
  if (stretches.length === 0) return [];
  const message = `The service had no rows for ${stretches.join(', ')}; loaded as empty, which is final once two runs after the end of a period agree on it.`;
  return [{ code: 'EMPTY_PERIODS', message }];
}

/** What is odd about an answer that is loaded all the same. */
function warningsOf({ sound, found, warnings, notAdditive }: Judged): LoadWarning[] {
  const told: LoadWarning[] = [...sound.warnings, ...warnings];
  const { copies } = found;
  const rejected = found.rejects?.days.length ?? 0;
  if (copies > 0) {
    const message = `${copies} identical rows came more than once; one of each was kept.`;
    told.push({ code: 'DUPLICATE_ROWS', message });
  }
  if (rejected > 0) {
    const message = `${rejected} rows could not be stored exactly; see ripen.rejected_rows.`;
    told.push({ code: 'REJECTED_ROWS', message });
  }
  for (const metric of new Set(notAdditive)) {
    const message = `The rows' ${metric} did not add up to the service's total while other metrics did: it is not additive here, and no longer summed.`;
    told.push({ code: 'NOT_ADDITIVE', message });
  }
  return told;
}

/** Windows to be replaced together. */
interface Replacement {
  /** Disjoint. */
  readonly windows: readonly Proven[];
  readonly staged: Pick<Staged, 'columns' | 'rowsOf'>;
  /**
   * Whether `totals` has what is inserted: whole windows, in the types of the table, no row of them twice or changed since. What
   * is not so is replaced alone, and totalled from the table.
   */
  readonly isPlain: boolean;
  readonly runId: string;
}

/** What became of one of the windows. */
interface ReplacedWindow {
  readonly rows: number;
  readonly restatedPeriods: number;
}

interface Replaced {
  /** In their order. */
  readonly windows: readonly ReplacedWindow[];
  /** With columns as wide as the windows needed them. */
  readonly target: Target;
}

const loadIdRow = z.object({ load_id: z.string() });
const restatedRow = z.object({ load_id: z.string(), periods: count });
const periodRowsRow = z.object({ start_day: dayShape, rows: count });

/** Makes the rows of windows visible, all or none. */
export async function replaceWindows(
  warehouse: Warehouse,
  target: Target,
  replacement: Replacement,
): Promise<Replaced> {
  const { windows, isPlain, runId } = replacement;
  const { slice } = target;
  const ranges = joined(windows.map(({ spooled }) => spooled.window.replaced));
  const came = windows.reduce((sum, { rows }) => sum + rows, 0);
  return transactRows(warehouse, came, async () => {
    // Before any row is touched: DuckDB commits no table that is altered after it was written to.
    const wider = await widenAsNeeded(warehouse, target, replacement);
    // Nothing of a window that was never loaded can be restated.
    const isKnown = windows.some(({ known }) => known.size > 0);
    if (isKnown) await warehouse.run(totalPeriods('before', wider, slice.grain, ranges));
    for (const days of ranges) {
      if ((await warehouse.run(deleteDays(wider.table, slice.grain, days))) > 0) warehouse.reclaimAtClose();
    }
    const loads = await numbered(warehouse, windows);
    const stored = await insertLoads(warehouse, wider, loads, replacement);
    if (!isPlain) await warehouse.run(totalPeriods('after', wider, slice.grain, ranges));
    else if (isKnown) await warehouse.run(totalAfter(wider.columns, numbersOf(windows)));
    const restated = isKnown ? await restate(warehouse, wider, loads) : new Map<string, number>();
    const rejects = windows.flatMap((proven) => proven.rejects.recorded);
    await recordRejects(warehouse, rejects, runId);
    const counted = isPlain ? null : await rowsAfter(warehouse);
    const done = loads.map((load): StoredLoad => Object.assign({}, load, { stored: stored ?? load.rows }));
    await recordLoads(warehouse, wider, done, runId);
    await recordPeriods(warehouse, wider, done, counted);
    return {
      windows: done.map((load) => ({ rows: load.stored, restatedPeriods: restated.get(load.loadId) ?? 0 })),
      target: wider,
    };
  });
}

/** Draws the ids of loads; within the transaction, as by itself it would write to the disk once more. */
async function numbered(warehouse: Warehouse, windows: readonly Proven[]): Promise<Load[]> {
  const ids = await warehouse.rows(
    "select nextval('ripen.load_ids')::varchar as load_id from range($1::bigint)",
    [windows.length],
    loadIdRow,
  );
  return windows.map((proven, at) => ({ ...proven, loadId: ids[at]?.load_id ?? '' }));
}

const numbersOf = (windows: readonly Proven[]): number[] => windows.map(({ windowNo }) => windowNo);

/** Inserts the rows of all windows; how many a window got that stands alone and lost copies, else null: as many as it had. */
async function insertLoads(
  warehouse: Warehouse,
  { slice, table, columns }: Target,
  loads: readonly Load[],
  { staged, isPlain }: Replacement,
): Promise<number | null> {
  const filled = loads.filter(({ rows }) => rows > 0);
  const [first] = filled;
  if (first === undefined) return null;
  const loadIds = Array.from({ length: Math.max(...numbersOf(filled)) + 1 }, (): string | null => null);
  for (const { windowNo, loadId } of filled) loadIds[windowNo] = loadId;
  const { collapse } = first;
  const sql = insertRows(table, columns, slice.grain, {
    rows: staged.rowsOf(numbersOf(filled)),
    types: staged.columns.metrics.map(({ type }) => type),
    loadIds,
    within: isPlain ? null : first.spooled.window.replaced,
    collapse,
    isOrdered: filled.every(({ isOrdered }) => isOrdered),
  });
  const rows = await warehouse.run(sql);
  const came = filled.reduce((sum, load) => sum + load.rows, 0);
  if (!collapse && rows !== came) throw new RangeError(`The windows got ${rows} rows where their answers had ${came}.`);
  return collapse ? rows : null;
}

/** Records the totals that moved; by load, in how many periods. */
async function restate(
  warehouse: Warehouse,
  { slice, fingerprint, columns }: Target,
  loads: readonly Load[],
): Promise<Map<string, number>> {
  const sql = recordRestatements(columns, new Set(loads.flatMap(({ notAdditive }) => notAdditive)));
  const [first] = loads;
  if (sql === null || first === undefined) return new Map();
  const items = loads.map(({ loadId, fetchedAt, spooled: { window } }) => ({
    load_id: loadId,
    seen_at: timestamp(fetchedAt),
    start_day: window.replaced.start,
    end_day: window.replaced.end,
  }));
  const moved = await warehouse.run(sql, [slice.name, fingerprint, JSON.stringify(items)]);
  if (moved === 0) return new Map();
  const found = await warehouse.rows(statement('load/restated_periods'), [first.loadId], restatedRow);
  return new Map(found.map(({ load_id: loadId, periods }) => [loadId, periods]));
}

/** The rows each period has now, from the totals taken after it was replaced. */
async function rowsAfter(warehouse: Warehouse): Promise<ReadonlyMap<Day, number>> {
  const found = await warehouse.rows(statement('load/totals_after'), [], periodRowsRow);
  return new Map(found.map(({ start_day: start, rows }) => [start, rows]));
}

/** Widens the table's columns that do not hold every value of a window exactly; only one that stands alone may need it. */
async function widenAsNeeded(
  warehouse: Warehouse,
  target: Target,
  { windows: [first], staged, isPlain, runId }: Replacement,
): Promise<Target> {
  const candidates = target.columns.metrics.flatMap((metric, at) => {
    const type = staged.columns.metrics[at]?.type ?? metric.type;
    return type === metric.type ? [] : [{ metric, type }];
  });
  if (isPlain || first === undefined || candidates.length === 0) return target;
  const inDays = insideDays(target.slice.grain, first.spooled.window.replaced);
  const sql = countUnfit(
    candidates.map(({ metric, type }) => ({ id: metric.id, typed: type, stored: metric.type })),
    first.windowNo,
    inDays,
  );
  const [unfit = {}] = await warehouse.rows(sql, [], z.record(z.string(), count));
  const widened = new Map(
    candidates.flatMap(({ metric, type }, at) => ((unfit[`m${at}`] ?? 0) > 0 ? [[metric.id, type] as const] : [])),
  );
  return alterColumns(warehouse, target, widened, runId);
}
