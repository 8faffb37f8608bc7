/**
 * Measures after each run, from the ledger alone, how a slice's values mature, what final values to expect, and how good such
 * projections would have been.
 */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { DOUBLE, parseColumnType } from '../model/column-type.ts';
import { horizonEvidence, type Look } from '../model/sampling.ts';
import { additiveOf, type Target } from '../tables/target.ts';
import {
  asScript,
  columnTypes,
  count,
  dayLiteral,
  dayShape,
  doubleSum,
  identifier,
  insertRows,
  jsonOf,
  literal,
  statement,
} from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Cohort, maturationOf, scoresOf, standings } from './ripening.ts';
import { declareViews, periodOf } from './views.ts';

/** The ledger's tables of measurements. */
const measured = [
  { of: 'maturation', table: 'ripen_internal.maturation' },
  { of: 'projections', table: 'ripen_internal.projections' },
  { of: 'errors', table: 'ripen.projection_errors' },
  { of: 'evidence', table: 'ripen_internal.horizon_evidence' },
] as const;

/** Eight months: older periods say little about how the newest mature, and the backtest must end within the night. */
const HISTORY_DAYS = 240;

/** Periods times metrics at which a batch of slices is full: for small slices, a statement takes longer than what it reads. */
const MAX_CELLS_AT_ONCE = 10_000;
/** Metrics of a slice that are read together: half a year of a cube with 363 metrics would not fit into the engine's memory. */
const MAX_METRICS_AT_ONCE = 60;

const changedRow = z.object({ slice: z.string(), start_day: dayShape.nullable(), periods: count });

/** A live table that changed, and the first day of its history. */
interface Changed {
  readonly live: Target;
  readonly since: Day | null;
}

/** Measures the live tables that changed in this run, or since the last that succeeded, and brings their views up to date. */
export async function measureTables(
  warehouse: Warehouse,
  tables: readonly Target[],
  runId: string,
): Promise<void> {
  const sql = statement('insight/changed_histories');
  const changed = await warehouse.rows(sql, [runId, HISTORY_DAYS], changedRow);
  const histories = new Map(changed.map((history) => [history.slice, history]));
  let [together, cells]: [Changed[], number] = [[], 0];
  for (const live of tables) {
    const history = histories.get(live.slice.name);
    if (history === undefined) continue;
    together.push({ live, since: history.start_day });
    cells += history.periods * additiveOf(live.columns).length;
    if (cells < MAX_CELLS_AT_ONCE) continue;
    await measureSome(warehouse, together);
    [together, cells] = [[], 0];
  }
  if (together.length > 0) await measureSome(warehouse, together);
}

async function measureSome(warehouse: Warehouse, tables: readonly Changed[]): Promise<void> {
  const results: { slice: string; metric: string; rows: ReturnType<typeof measure> }[] = [];
  const most = Math.max(...tables.map(({ live }) => additiveOf(live.columns).length));
  for (let from = 0; from < most; from += MAX_METRICS_AT_ONCE) {
    for (const { slice, metric, periods } of await readHistories(warehouse, tables, from))
      results.push({ slice, metric, rows: measure(periods) });
  }
  const names = tables.map(({ live }) => literal(live.slice.name)).join(', ');
  await warehouse.transact(async () => {
    const deletions = measured.map(({ table }) => `delete from ${table} where slice in (${names})`);
    await warehouse.run(asScript(deletions));
    for (const { of, table } of measured) {
      const ofTable = results.flatMap(({ slice, metric, rows }) =>
        rows[of].map((row: object) => Object.assign({ slice, metric }, row)),
      );
      await insertRows(warehouse, table, ofTable);
    }
    for (const { live } of tables) await declareViews(warehouse, live);
  });
}

function measure(periods: readonly PeriodHistory[]) {
  const development = periods.map(cohortOf);
  const standingOn = standings(development);
  const { ages, factors } = standingOn(Infinity);
  const scores = scoresOf(development, standingOn);
  // The pairs of successive fetches of a period whose age increases.
  const looks = periods.flatMap(({ fetches }) =>
    fetches.slice(1).flatMap((to, index): Look[] => {
      const from = fetches[index];
      if (from === undefined || from.age >= to.age) return [];
      return [{ from: from.age, to: to.age, hasChanged: from.value !== to.value }];
    }),
  );
  const { lastChangeAge, laterLooks } = horizonEvidence(looks);
  return {
    maturation: maturationOf(development, ages),
    projections: periods.flatMap(({ start_day: period, load_id, is_held: isStored, fetches }) => {
      const last = fetches.at(-1);
      if (!isStored || last === undefined || fetches.some((fetch) => fetch.is_final)) return [];
      const reach = scores.find((score) => score.age_days === last.age)?.reach ?? null;
      const factor = factors.get(last.age);
      if (reach === null || factor === undefined || last.value <= 0) return [];
      const made = { period, load_id, age_days: last.age, periods: factor.periods };
      const ends = { factor_low: factor.value / reach, factor_high: factor.value * reach };
      return [{ ...made, factor: factor.value, ...ends }];
    }),
    errors: scores,
    evidence: [{ last_change_age: lastChangeAge, later_looks: laterLooks }],
  };
}

const periodShape = z.object({
  start_day: dayShape,
  load_id: z.string(),
  is_held: z.boolean(),
  last_day: z.number(),
  /** In order of loads; ages in days. */
  fetches: z.array(z.object({ age: z.number(), value: z.number(), is_final: z.boolean() })),
});

type PeriodHistory = z.infer<typeof periodShape>;

const metricRow = z.object({
  slice: z.string(),
  metric: z.string(),
  periods: jsonOf(z.array(periodShape)),
});

/** Reads the histories of the additive metrics of each table from index `from` on. */
async function readHistories(
  warehouse: Warehouse,
  tables: readonly Changed[],
  from: number,
): Promise<readonly z.infer<typeof metricRow>[]> {
  const totals: string[] = [];
  const read: object[] = [];
  for (const { live, since } of tables) {
    const { slice, fingerprint, table, columns } = live;
    const some = additiveOf(columns).slice(from, from + MAX_METRICS_AT_ONCE);
    const metrics = some.map(({ id }) => id);
    if (since === null || slice.grain === null || metrics.length === 0) continue;
    totals.push(periodTotals(live, since, metrics, await columnTypes(warehouse, table)));
    read.push({ slice: slice.name, fingerprint, start_day: since, metrics });
  }
  if (read.length === 0) return [];
  await warehouse.run(
    `create or replace temp table ${PERIOD_TOTALS} as\n${totals.join('\nunion all\n')}`,
  );
  const request = [JSON.stringify(read)];
  const rows = await warehouse.rows(statement('insight/readings'), request, metricRow);
  await warehouse.run(`drop table ${PERIOD_TOTALS}`);
  return rows;
}

/** Of two fetches at the same age, the later load counts. */
function cohortOf({ last_day: lastDay, fetches }: PeriodHistory): Cohort {
  const ascending = (isFinal: boolean): [number, number][] => {
    const byAge = new Map(
      fetches.filter((each) => each.is_final === isFinal).map(({ age, value }) => [age, value]),
    );
    return [...byAge].sort(([one], [other]) => one - other);
  };
  const finals = ascending(true).map(([age, value]) => ({ age, value }));
  return {
    lastDay,
    readings: new Map(ascending(false)),
    finals: finals.filter(({ value }, at) => value !== finals[at - 1]?.value),
  };
}

/** The temporary table of current totals, from which earlier ones are derived. */
export const PERIOD_TOTALS = '"ripen period totals"';

/** Returns the query for the current totals by period since a day. */
function periodTotals(
  { slice, table }: Target,
  since: Day,
  metrics: readonly string[],
  types: ReadonlyMap<string, string>,
): string {
  const grain = slice.grain ?? 'day';
  const sumOf = (column: string): string =>
    doubleSum(`s.${identifier(column)}`, parseColumnType(types.get(column) ?? '') ?? DOUBLE);
  const names = metrics.map(literal).join(', ');
  const rows = `from ${table} as s\nwhere s.${identifier(grain)} >= ${dayLiteral(grain, since)}`;
  const name = `${literal(slice.name)} as slice`;
  return slice.cube === undefined
    ? `select ${name}, start_day, unnest([${names}]::varchar[]) as metric, unnest(sums) as value
from (select ${periodOf(slice)} as start_day, [${metrics.map(sumOf).join(', ')}]::double[] as sums ${rows} group by 1)`
    : `select ${name}, ${periodOf(slice)} as start_day, s.metric, ${sumOf('value')} as value ${rows} and s.metric in (${names}) group by 2, 3`;
}
