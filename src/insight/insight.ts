/**
 * Measures after each run, from control totals, how values mature, what to expect of them, how good such projections would have
 * been, and which horizons the history supports.
 */

import * as z from 'zod';

import { version } from '../config/version.ts';
import { type Day, MS_PER_DAY } from '../model/calendar.ts';
import { controlName } from '../model/control.ts';
import type { Metric } from '../model/metric.ts';
import { declare, type Declaration } from '../warehouse/declarations.ts';
import type { Target } from '../warehouse/tables/target.ts';
import {
  keptPeriods,
  type LostApps,
  readLostApps,
  rowsOfLost,
} from '../warehouse/tables/lost-apps.ts';
import {
  asScript,
  count,
  dayShape,
  identifier,
  insertRows,
  jsonOf,
  literal,
  statement,
} from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  ageAt,
  type Changes,
  developmentOf,
  horizonEvidence,
  type ReadPeriod,
  readPeriods,
  totalOfNight,
} from './development.ts';
import { ladderOf, maturationOf, projectionOf, scoresOf, unprojected } from './ripening.ts';
import { declareViews } from './views.ts';

const measuredTables = [
  'ripen_internal.maturation',
  'ripen_internal.projections',
  'ripen.projection_errors',
  'ripen_internal.horizon_evidence',
] as const;

/** Older periods say little about how the newest mature, and the backtest must end within the night. */
const HISTORY_DAYS = 240;

/** Control totals of a metric, and the slices in which it becomes final at the same time. */
interface Developing {
  readonly control: string;
  readonly metric: Metric;
  readonly isHourly: boolean;
  readonly finalSeconds: number | null;
  readonly slices: string[];
}

/** Measures tables if anything they rest on has changed since they were measured, and brings their views up to date. */
export async function measureTables(
  warehouse: Warehouse,
  tables: readonly Target[],
): Promise<void> {
  if (tables.length === 0) return;
  const developing = developingOf(tables);
  const stateRow = z.object({ state: z.string() });
  const state = await warehouse.rows(statement('insight/state'), [], stateRow);
  const lost = await readLostApps(warehouse);
  await warehouse.transact(async () => {
    const measurements: Declaration = {
      name: 'measurements',
      slice: null,
      relations: [],
      inputs: [JSON.stringify([version, developing, state, [...lost.keys()]])],
      statements: async () => {
        await replaceMeasurements(warehouse, tables, developing, lost);
        return [];
      },
    };
    await declare(warehouse, [measurements]);
    await declareViews(warehouse, tables);
  });
}

async function replaceMeasurements(
  warehouse: Warehouse,
  tables: readonly Target[],
  developing: readonly Developing[],
  lost: LostApps,
) {
  const lostDays = await readLostDays(warehouse, tables, lost);
  const reads = await readCoverage(warehouse);
  const maturing = new Map<string, z.infer<typeof maturingRow>['periods']>();
  for (const row of await warehouse.rows(statement('insight/maturing'), [], maturingRow))
    maturing.set(`${row.slice} ${row.metric}`, row.periods);
  const rows = new Map(measuredTables.map((table): [typeof table, object[]] => [table, []]));
  const read = developing.filter(({ control }) => reads.has(control));
  for (const batch of await inBatches(warehouse, read)) {
    const wanted = batch.map(({ control, metric, isHourly, finalSeconds }, number) => ({
      number,
      control,
      metric: metric.id,
      is_hourly: isHourly,
      final_seconds: finalSeconds,
    }));
    const request = [JSON.stringify(wanted), HISTORY_DAYS];
    const rowsOf = await warehouse.rows(statement('insight/changes'), request, changesRow);
    const changes = new Map(rowsOf.map((row) => [row.number, row.changes]));
    for (const [number, { control, metric, finalSeconds, slices }] of batch.entries()) {
      const { id, horizonMs, additive } = metric;
      const read = reads.get(control)?.(id) ?? [];
      const none: Changes = { starts: [], seconds: [], values: [] };
      const development = developmentOf(read, changes.get(number) ?? none, finalSeconds);
      const horizonDays = horizonMs === null ? null : Math.ceil(horizonMs / MS_PER_DAY);
      const factorsOn = ladderOf(development);
      // Rows of what does not add up have no part in a projected total.
      const errors = additive ? scoresOf(development, factorsOn) : [];
      const scores = new Map(errors.map((score) => [score.age_days, score]));
      const maturation = maturationOf(development);
      const evidence = [horizonEvidence(development, horizonDays)];
      const cohorts = new Map(development.map((cohort) => [cohort.firstDay, cohort]));
      const starts = new Set(read.map(({ period }) => period.start));
      for (const slice of slices) {
        const periods = maturing.get(`${slice} ${id}`) ?? [];
        const projections = periods.flatMap(({ start, loaded_after: loadedAfter, ...key }) => {
          if (!starts.has(start)) return [];
          if (lostDays.get(slice)?.has(key.period)) return [{ ...key, ...unprojected('lost app') }];
          const cohort = cohorts.get(start);
          const total = cohort === undefined ? null : totalOfNight(cohort, loadedAfter);
          const loaded = { age: ageAt(loadedAfter), total };
          const made = projectionOf(cohort, loaded, factorsOn(Infinity), scores);
          return made === null ? [] : [{ ...key, ...made }];
        });
        const measured = {
          'ripen_internal.maturation': maturation,
          'ripen_internal.projections': projections,
          'ripen.projection_errors': errors,
          'ripen_internal.horizon_evidence': evidence,
        };
        for (const [table, stored] of rows)
          for (const row of measured[table]) stored.push({ slice, metric: id, ...row });
      }
    }
  }
  const names = tables.map(({ slice }) => literal(slice.name)).join(', ');
  const deletions = measuredTables.map((table) => `delete from ${table} where slice in (${names})`);
  await warehouse.run(asScript(deletions));
  for (const [table, stored] of rows) await insertRows(warehouse, table, stored);
}

/** Returns by slice the first days of periods with rows of lost apps, which control totals count no longer. */
async function readLostDays(warehouse: Warehouse, tables: readonly Target[], lost: LostApps) {
  const kept = await keptPeriods(
    warehouse,
    tables.map(({ slice }) => slice),
    lost,
  );
  const lostDays = new Map<string, ReadonlySet<Day>>();
  for (const { slice, table } of tables) {
    const ofLost = rowsOfLost(lost, slice);
    let days: Day[] = [];
    if (ofLost !== null && slice.grain !== null) {
      const sql = `select distinct ${identifier(slice.grain)}::date::varchar as day from ${table} where ${ofLost}`;
      days = await warehouse.rows(sql, [], dayRow);
    }
    lostDays.set(slice.name, new Set([...days, ...(kept.get(slice.name) ?? [])]));
  }
  return lostDays;
}

/** Each metric once for each instant from which its values are final. Ratios of a day are not sums of hours. */
function developingOf(tables: readonly Target[]) {
  const developing = new Map<string, Developing>();
  for (const { slice, columns } of tables) {
    const control = controlName(slice);
    const isHourly = slice.grain === 'hour';
    for (const metric of columns.metrics) {
      if (control === null || (isHourly && !metric.additive)) continue;
      const { id, horizonMs, additive } = metric;
      const finalSeconds = horizonMs === null ? null : (horizonMs + slice.settleMs) / 1000;
      const key = JSON.stringify([control, id, horizonMs, finalSeconds, additive]);
      const alike = developing.get(key) ?? { control, metric, isHourly, finalSeconds, slices: [] };
      alike.slices.push(slice.name);
      developing.set(key, alike);
    }
  }
  return [...developing.values()];
}

/** Control totals that are read together: more would not fit into the engine's memory. */
const MAX_TOTALS_AT_ONCE = 2_000_000;

const sizeRow = z.object({ control: z.string(), metric: z.string(), totals: count });

async function inBatches(warehouse: Warehouse, developing: readonly Developing[]) {
  const sizes = new Map<string, number>();
  for (const row of await warehouse.rows(statement('insight/sizes'), [], sizeRow))
    sizes.set(`${row.control} ${row.metric}`, row.totals);
  const batches: Developing[][] = [];
  let room = 0;
  for (const measured of developing) {
    const size = sizes.get(`${measured.control} ${measured.metric.id}`) ?? 0;
    if (batches.length === 0 || size > room) {
      batches.push([]);
      room = MAX_TOTALS_AT_ONCE;
    }
    batches.at(-1)?.push(measured);
    room -= size;
  }
  return batches;
}

const numbers = z.array(z.number());
const changesRow = z.object({
  number: z.number(),
  changes: jsonOf(z.object({ starts: numbers, seconds: numbers, values: numbers })),
});

const timedDays = z.object({ start: z.number(), end: z.number(), seconds: z.number() });
const coverageRow = z.object({
  control: z.string(),
  periods: jsonOf(z.array(timedDays)),
  readings: jsonOf(
    z.array(z.object({ metrics: z.array(z.string()), readings: z.array(timedDays) })),
  ),
});

async function readCoverage(warehouse: Warehouse) {
  const rows = await warehouse.rows(statement('insight/coverage'), [HISTORY_DAYS], coverageRow);
  return new Map(
    rows.map(({ control, periods, readings }) => {
      // Most metrics have the same readings.
      const byGroups = new Map<string, readonly ReadPeriod[]>();
      const periodsOf = (metric: string) => {
        const groups = readings.filter(({ metrics }) => metrics.includes(metric));
        const key = groups.map((group) => readings.indexOf(group)).join();
        const answers = groups.flatMap((group) => group.readings);
        const read = byGroups.get(key) ?? readPeriods(periods, answers);
        byGroups.set(key, read);
        return read;
      };
      return [control, periodsOf] as const;
    }),
  );
}

const dayRow = z.object({ day: dayShape }).transform(({ day }) => day);

const maturingRow = z.object({
  slice: z.string(),
  metric: z.string(),
  periods: jsonOf(
    z.array(
      z.object({
        period: dayShape,
        start: z.number(),
        load_id: z.string(),
        loaded_after: z.number(),
      }),
    ),
  ),
});
