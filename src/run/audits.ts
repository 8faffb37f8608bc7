/**
 * The audits of a night: periods with final cells, drawn at random, whose totals are requested again.
 *
 * Totals by the date alone are one row a period. Where they equal those of the stored rows, that is recorded as a load that
 * brought no rows; where they do not, or cannot tell, the period is loaded again as any other is.
 */

import * as z from 'zod';

import { asFailure } from '../errors.ts';
import { fetchPages, type Paging, readReport } from '../extract/pages.ts';
import { evidenceOf, maturityOf, statedMaturity } from '../load/report-page.ts';
import { metricColumns } from '../load/table-sql.ts';
import { additiveOf, insideDays, type MetricColumn, type Target } from '../tables/target.ts';
import { compareTotals, type Comparison, type MetricSum, statedTotals } from '../load/totals.ts';
import type { Slice } from '../model/slice.ts';
import { isFiltered, reportParameters, type Window } from '../model/window.ts';
import { type AuditedPlan, auditWindow, type Draw, drawAudits, nightOf } from '../plan/audit.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { type BesideRows, errorIn, saysCut, warningsIn } from '../spool/beside-rows.ts';
import type { Spool } from '../spool/spool.ts';
import { count, identifier, statement, timestamp, exactSum, sumText } from '../warehouse/sql.ts';
import type { Run } from './run.ts';

/** Draws the audits of a nightly sync, and records them before anything is requested; a backfill draws none. */
export async function drawNightly(
  run: Run,
  targets: readonly Target[],
  plans: readonly SlicePlan[],
): Promise<readonly Draw[]> {
  if (run.request.forced !== null) return [];
  const audited = plans.map((plan) => ({
    plan,
    metrics: targets.find(({ slice }) => slice === plan.slice)?.metrics ?? [],
  }));
  const drawn = await drawnTonight(run, audited);
  const draws = drawn.map(({ plan, period, seed, waits }) => {
    return { slice: plan.slice.name, period: period.bucket.start, seed, waits };
  });
  const parameters = [run.runId, timestamp(run.planAt), JSON.stringify(draws)];
  if (drawn.length > 0) await run.warehouse.run(statement('insight/record_draws'), parameters);
  return drawn;
}

const drawsRow = z.object({ draws: count });

/** What the night's earlier runs, killed ones too, have left to draw. */
export async function drawnTonight(
  { config, warehouse, planAt }: Pick<Run, 'config' | 'planAt' | 'warehouse'>,
  plans: readonly AuditedPlan[],
): Promise<Draw[]> {
  const [done] = await warehouse.rows(statement('insight/audits_of_night'), [nightOf(planAt)], drawsRow);
  return drawAudits(plans, { periods: config.audit, done: done?.draws ?? 0 }, planAt);
}

export interface Auditing extends Omit<Paging, 'spool'> {
  readonly spool: Paging['spool'] & Pick<Spool, 'discard'>;
  readonly run: Run;
}

/**
 * Requests the totals of the drawn periods that no other fetch answers; returns the windows to load again. `targets` are the
 * tables as they stand, by slice. A request that fails is left to the window.
 */
export async function auditByTotals(
  drawn: readonly Draw[],
  targets: ReadonlyMap<string, Target>,
  auditing: Auditing,
): Promise<Window[]> {
  const { record, signal } = auditing.run;
  if (record.failures.some(({ code }) => code === 'CREDENTIALS_REFUSED')) return [];
  const again = await Promise.all(
    drawn.map(async (draw) => {
      const target = targets.get(draw.plan.slice.name);
      if (draw.waits || signal.aborted) return [];
      const isCurrent = target?.fingerprint === draw.plan.fingerprint;
      if (isCurrent && (await confirmsTotals(draw, target, auditing))) return [];
      return [auditWindow(draw)];
    }),
  );
  return again.flat();
}

/** Whether the service states the totals that the stored rows of a period have; records it where it does. */
async function confirmsTotals(draw: Draw, target: Target, auditing: Auditing): Promise<boolean> {
  const { slice } = target;
  const window = auditWindow({ ...draw, plan: { ...draw.plan, slice: byDateAlone(slice, draw.metrics), table: null } });
  // A filter of a metric looks at rows as they are grouped: by the date alone it leaves others out.
  if (isFiltered(window)) return false;
  const requestedAt = new Date();
  const answer = await requestTotals(window, auditing);
  if (answer === null) return false;
  const { run } = auditing;
  const metrics = additiveOf(target.columns).filter(({ id }) => draw.metrics.includes(id));
  const { sums, rows } = await storedSums(run.warehouse, target, metrics, window);
  const comparisons = compareTotals(sums, statedTotals(answer.totals), rows);
  const fetchedAt = run.request.asOf ?? requestedAt;
  // One that was found not to add up since it was drawn, or that the answer left out, was not compared.
  const isConfirmed = comparisons.length === draw.metrics.length && comparisons.every(({ isExact }) => isExact);
  const { evidence } = evidenceOf(maturityOf(window, [statedMaturity(answer.beside)]), draw.period, fetchedAt);
  if (!isConfirmed || evidence !== undefined) return false;
  await recordConfirmed(window, { comparisons, requestedAt, fetchedAt, bytes: answer.bytes }, run);
  return true;
}

/** The same report by its date alone, of some of its metrics; what sorts or indexes it names dimensions that it then lacks. */
function byDateAlone(slice: Slice, metrics: readonly string[]): Slice {
  const { sort: _sort, index: _index, ...parameters } = slice.parameters;
  const date = slice.grain === 'hour' ? 'day' : slice.grain;
  return { ...slice, parameters, dimensions: date === null ? [] : [date], metrics };
}

interface StatedReport {
  readonly totals: ReadonlyMap<string, string>;
  readonly beside: BesideRows;
  readonly bytes: number;
}

/** What the service states of a window in one page, by its totals, else by its one row; null where it does not. */
async function requestTotals(window: Window, { run, ...paging }: Auditing): Promise<StatedReport | null> {
  run.record.asked(window.slice, 1);
  try {
    const { pages, unfollowed } = await fetchPages(window, reportParameters(window), paging);
    try {
      const [page, ...others] = pages;
      if (page === undefined || others.length > 0 || unfollowed !== null) return null;
      const { rows, totals, beside } = await readReport(page);
      const isCut = warningsIn(beside).some((warning) => saysCut(warning, rows.length) !== 'no');
      if (errorIn(beside) !== null || isCut) return null;
      const [row = {}, ...more] = rows;
      const stated = totals.size > 0 || more.length > 0 ? totals : numbersIn(row);
      return { totals: stated, beside, bytes: page.bytes };
    } finally {
      await paging.spool.discard({ answers: [{ pages }] });
    }
  } catch (error) {
    paging.signal.throwIfAborted();
    const isUnread = error instanceof SyntaxError || asFailure(error).kind !== 'bug';
    if (isUnread) return null;
    throw error;
  }
}

const numbersIn = (row: Readonly<Record<string, unknown>>): Map<string, string> =>
  new Map(Object.entries(row).map(([name, value]) => [name, String(value)]));

const sumsRow = z.object({
  rows: count,
  sums: z.array(z.string().nullable()),
  magnitudes: z.array(z.number().nullable()),
  non_zero: z.array(count),
});

/** How many rows of a window are stored, and the exact sums of some of their metrics, in their order. */
async function storedSums(
  warehouse: Run['warehouse'],
  { table, slice, columns }: Target,
  metrics: readonly MetricColumn[],
  { replaced }: Window,
): Promise<{ readonly rows: number; readonly sums: MetricSum[] }> {
  const each = (sum: (name: string, metric: MetricColumn) => string): string =>
    metrics.map((metric) => sum(identifier(metric.id), metric)).join(', ');
  const [found] = await warehouse.rows(
    `select
    count(*) as rows,
    [${each((name, { type }) => sumText(exactSum(name, type), type))}]::varchar[] as sums,
    [${each((name) => `sum(abs(${name}::double))`)}]::double[] as magnitudes,
    [${each((name) => `count(*) filter (where ${name} <> 0)`)}]::varchar[] as non_zero
from ${columns.cube === undefined ? table : metricColumns(table, { cube: columns.cube, dimensions: slice.dimensions, metrics })}
where ${insideDays(slice.grain, replaced)}`,
    [],
    sumsRow,
  );
  const sums = metrics.map(({ id, type, isAssumed }, at): MetricSum => {
    const sum = found?.sums[at] ?? null;
    const [magnitude, nonZero] = [found?.magnitudes[at] ?? 0, found?.non_zero[at] ?? 0];
    const isCount = type.kind === 'BIGINT';
    // Only exact agreement counts, for which the digits of the rows do not matter.
    return { metric: id, sum, distinctSum: sum, magnitude, nonZero, digits: 0, isCount, isAssumed };
  });
  return { rows: found?.rows ?? 0, sums };
}

interface Confirmed extends Pick<StatedReport, 'bytes'> {
  readonly comparisons: readonly Comparison[];
  readonly requestedAt: Date;
  readonly fetchedAt: Date;
}

/** Records that a period was fetched again and found unchanged. */
async function recordConfirmed(
  window: Window,
  { comparisons, requestedAt, fetchedAt, bytes }: Confirmed,
  { warehouse, runId }: Run,
): Promise<void> {
  const { slice, fingerprint, asked } = window;
  await warehouse.run(statement('insight/record_confirmed'), [
    runId,
    slice.name,
    fingerprint,
    JSON.stringify(slice.metrics),
    asked.start,
    asked.end,
    JSON.stringify(reportParameters(window)),
    bytes,
    JSON.stringify(comparisons),
    timestamp(requestedAt),
    timestamp(new Date()),
    timestamp(fetchedAt),
  ]);
}
