/**
 * What a slice's own history says of its unfinal values: how they ripen, what to expect of them, and how well that would
 * have done. Measured again after each run, from the ledger alone; never mixed into what the service said.
 */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { commentOn, declare } from '../warehouse/declaring.ts';
import { asScript, dayShape, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { scoresOf } from './backtest.ts';
import { standings } from './chain-ladder.ts';
import { maturationOf, maturedOf } from './development.ts';
import { horizonEvidence } from '../model/sampling.ts';
import { readHistories, type RipeningHistory } from './read-developments.ts';
import {
  adding,
  maturationComments,
  maturationName,
  maturationView,
  projectedComments,
  projectedName,
  projectedView,
  ripening,
  type LiveTable,
} from './views-sql.ts';

/** The tables of the ledger with what is measured of each slice, and the statement that fills each. */
const measured = [
  { of: 'maturation', table: 'ripen_internal.maturation', record: 'insight/record_maturation' },
  { of: 'projections', table: 'ripen_internal.projections', record: 'insight/record_projections' },
  { of: 'errors', table: 'ripen.projection_errors', record: 'insight/record_projection_errors' },
  { of: 'evidence', table: 'ripen_internal.horizon_evidence', record: 'insight/record_horizon_evidence' },
] as const;

/** Eight months: old ways of ripening say little of the newest periods, and the backtest is to end within the night. */
const HISTORY_DAYS = 240;

const changedRow = z.object({ slice: z.string(), start_day: dayShape.nullable() });

/**
 * Measures the live tables that changed in the run, or in one before it that was killed, and brings their views `_maturation` and
 * `_projected` up to them: a slice of which no total becomes final has neither.
 */
export async function measureTables(warehouse: Warehouse, tables: readonly LiveTable[], runId: string): Promise<void> {
  const rows = await warehouse.rows(statement('insight/changed_histories'), [runId, HISTORY_DAYS], changedRow);
  const since = new Map(rows.map((row) => [row.slice, row.start_day]));
  for (const live of tables) {
    const first = since.get(live.slice.name);
    if (first !== undefined) await measureTable(warehouse, live, first);
  }
}

/** `since` is the first day of its history; null where no period of it is whole. */
async function measureTable(warehouse: Warehouse, live: LiveTable, since: Day | null): Promise<void> {
  const { slice } = live;
  const isKnown = since !== null && slice.grain !== null && adding(live).length > 0;
  const histories = isKnown ? await readHistories(warehouse, live, since) : new Map<string, RipeningHistory>();
  const each = [...histories].map(([metric, history]) => measure({ slice: slice.name, metric }, history));
  await warehouse.transact(async () => {
    await warehouse.run(
      asScript(measured.map(({ table }) => `delete from ${table} where slice = ${literal(slice.name)}`)),
    );
    for (const { of, record } of measured) {
      const found = each.flatMap((rowsOf) => rowsOf[of]);
      if (found.length > 0) await warehouse.run(statement(record), [JSON.stringify(found)]);
    }
    await declareViews(warehouse, live);
  });
}

async function declareViews(warehouse: Warehouse, live: LiveTable): Promise<void> {
  const { slice } = live;
  const dimensions = slice.dimensions.map((name) => [name, `${name} (dimension), as in ${slice.name}`] as const);
  const [view, comments] = [projectedView(live), [...dimensions, ...projectedComments]];
  const statements = [
    ...[maturationName, projectedName].map((name) => `drop view if exists ${name(slice.name)}`),
    ...(slice.grain === null || ripening(live).length === 0
      ? []
      : [
          maturationView(live),
          ...commentOn('view', maturationName(slice.name), maturationText(slice.name), maturationComments),
          ...(view === null
            ? []
            : [view, ...commentOn('view', projectedName(slice.name), projectedText(slice.name), comments)]),
        ]),
  ];
  await declare(warehouse, {
    name: `insight ${slice.name}`,
    slice: slice.name,
    relations: [`main.${slice.name}_maturation`, `main.${slice.name}_projected`],
    from: statements,
    statements: () => Promise.resolve(statements),
  });
}

const maturationText = (slice: string): string =>
  `How much of the final totals of ${slice} was known at each age, in quartiles over final periods; no rows with too little history.`;
const projectedText = (slice: string): string =>
  `Projections, not measurements: the final value to expect of each maturing cell of ${slice}, with an 80 % interval; ripen.projection_errors says how well that did, and why a metric is missing here.`;

type Rows = readonly Readonly<Record<string, unknown>>[];

interface MetricOfSlice {
  readonly slice: string;
  readonly metric: string;
}

/** The rows of one metric in each of the tables. */
function measure(
  { slice, metric }: MetricOfSlice,
  history: RipeningHistory,
): Readonly<Record<(typeof measured)[number]['of'], Rows>> {
  const { development, looks, maturing } = history;
  const standingOn = standings(development);
  const { ages, factors } = standingOn(Infinity);
  const scores = scoresOf(development, standingOn);
  const matured = maturedOf(development);
  const read = new Map<number, number>();
  for (const age of matured.flatMap(({ readings }) => [...readings.keys()])) read.set(age, (read.get(age) ?? 0) + 1);
  const { lastChangeAge, laterLooks } = horizonEvidence(looks);
  return {
    maturation: maturationOf(development, ages).map(({ age, periods, q25, median, q75 }) => {
      return { slice, metric, age_days: age, periods, share_q25: q25, share_median: median, share_q75: q75 };
    }),
    projections: maturing.flatMap(({ period, loadId, last: { age, value } }) => {
      const reach = scores.find((score) => score.age === age)?.reach ?? null;
      const factor = factors.get(age);
      if (reach === null || factor === undefined || value <= 0) return [];
      const made = { slice, metric, period, load_id: loadId, age_days: age, periods: factor.periods };
      const ends = { factor_low: factor.value / reach, factor_high: factor.value * reach };
      return [{ ...made, factor: factor.value, ...ends }];
    }),
    errors: scores.map(({ age, cohorts, medianError, medianErrorAsIs, coverage, reason }) => {
      const [median_abs_error, median_abs_error_as_is] = [medianError, medianErrorAsIs];
      return { slice, metric, age_days: age, cohorts, median_abs_error, median_abs_error_as_is, coverage, reason };
    }),
    evidence: [
      {
        slice,
        metric,
        last_change_age: lastChangeAge,
        later_looks: laterLooks,
        matured_periods: matured.length,
        most_at_one_age: Math.max(0, ...read.values()),
      },
    ],
  };
}
