/** From judged windows to results: which of their periods are believed, which go together, and what is told of them. */

import type { Day } from '../model/calendar.ts';
import { type ColumnType, formatColumnType } from '../model/column-type.ts';
import { subjectOf, type Window } from '../model/window.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Sound } from './answers.ts';
import type { Found } from './check.ts';
import { emptyStretches, lossFailure, sharesOf } from './guard.ts';
import { type Known, knownPeriods, type Proven, rememberAdditivity } from './load-ledger.ts';
import type { Loaded, LoadRequest, LoadResult, LoadWarning } from './load-result.ts';
import type { ProvenWindow } from './proof.ts';
import { replaceWindows } from './replace.ts';
import type { Rejects } from './rejects.ts';
import type { Target } from './target.ts';
import type { Staged } from './window-sql.ts';

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
    const shares = sharesOf(window, counts, { fetchedAt, acceptLoss, isRepeated: spooled.attempt > 0 });
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
    found.copies === 0 &&
    found.rejects === undefined &&
    staged.columns.metrics.every(({ type }, at) => isSameType(type, columns.metrics[at]?.type ?? type))
  );
}

const isSameType = (one: ColumnType, other: ColumnType): boolean => formatColumnType(one) === formatColumnType(other);

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
      maturity: sound.maturity,
      known,
    };
  });
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
