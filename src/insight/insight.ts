/**
 * What a slice's own history says of its unfinal values: how they ripen, what to expect of them, and how well that would
 * have done. Measured again after each run, from the ledger alone; never mixed into what the service said.
 */

import { commentOn, declare } from '../warehouse/declaring.ts';
import { asScript, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { scoresOf, type Counted, type Score } from './backtest.ts';
import { standings, type Factor } from './chain-ladder.ts';
import { maturationOf, maturedOf } from './development.ts';
import { horizonEvidence } from '../model/horizon-evidence.ts';
import { readHistories, type MetricHistory } from './read-developments.ts';
import {
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
const measuredTables = {
  maturation: 'insight/record_maturation',
  projections: 'insight/record_projections',
  projection_errors: 'insight/record_projection_errors',
  horizon_evidence: 'insight/record_horizon_evidence',
} as const;

const INSTALLS = 'installs';

/**
 * Measures a slice's live table and brings its views `_maturation` and `_projected` up to it, in one transaction: a slice of
 * which no total becomes final has neither.
 */
export async function refreshInsight(warehouse: Warehouse, live: LiveTable): Promise<void> {
  const { slice } = live;
  const histories = await readHistories(warehouse, live);
  const each = [...histories].map(([metric, history]) =>
    measure({ metric, history, counted: countedOf(metric, histories, live) }),
  );
  const measured = [
    ['maturation', each.flatMap(({ maturation }) => maturation)],
    ['projections', each.flatMap(({ projections: of }) => of)],
    ['projection_errors', each.flatMap(({ projection_errors: of }) => of)],
    ['horizon_evidence', each.flatMap(({ horizon_evidence: of }) => of)],
  ] as const;
  await warehouse.transact(async () => {
    await warehouse.run(asScript(forgetting(slice.name)));
    for (const [table, rows] of measured) {
      if (rows.length > 0) await warehouse.run(statement(measuredTables[table]), [slice.name, JSON.stringify(rows)]);
    }
    await declareViews(warehouse, live);
  });
}

const forgetting = (slice: string): string[] =>
  Object.keys(measuredTables).map((table) => `delete from ripen.${table} where slice = ${literal(slice)}`);

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

/**
 * What tells how much stands behind the totals of a metric: the installs of the slice, as the users all else comes from; without
 * them the metric itself where it counts.
 */
function countedOf(
  metric: string,
  histories: ReadonlyMap<string, MetricHistory>,
  { metrics }: LiveTable,
): Counted | null {
  const isCount = metrics.some(({ id, type }) => id === metric && type.kind === 'BIGINT');
  const name = histories.has(INSTALLS) || !isCount ? INSTALLS : metric;
  const development = histories.get(name)?.development;
  return development === undefined ? null : { name, development };
}

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Measurable {
  readonly metric: string;
  readonly history: MetricHistory;
  readonly counted: Counted | null;
}

/** The rows of one metric in each of the ledger's tables of insight. */
function measure({ metric, history, counted }: Measurable): Readonly<Record<keyof typeof measuredTables, Rows>> {
  const { development, looks } = history;
  const standingOn = standings(development);
  const { ages, factors } = standingOn(Infinity);
  const scores = scoresOf(development, standingOn, counted);
  const matured = maturedOf(development);
  const read = new Map<number, number>();
  for (const age of matured.flatMap(({ readings }) => [...readings.keys()])) read.set(age, (read.get(age) ?? 0) + 1);
  const { lastChangeAge, laterLooks } = horizonEvidence(looks);
  return {
    maturation: maturationOf(development, ages).map(({ age, periods, q25, median, q75 }) => {
      return { metric, age_days: age, periods, share_q25: q25, share_median: median, share_q75: q75 };
    }),
    projections: projections(metric, history, { factors, scores }),
    horizon_evidence: [
      {
        metric,
        last_change_age: lastChangeAge,
        later_looks: laterLooks,
        matured_periods: matured.length,
        most_at_one_age: Math.max(0, ...read.values()),
      },
    ],
    projection_errors: scores.map((score) => ({
      metric,
      age_days: score.age,
      cohorts: score.cohorts,
      median_abs_error: score.medianError,
      median_abs_error_as_is: score.medianErrorAsIs,
      coverage: score.coverage,
      reason: score.reason,
    })),
  };
}

function projections(
  metric: string,
  { maturing }: MetricHistory,
  { factors, scores }: { readonly factors: ReadonlyMap<number, Factor>; readonly scores: readonly Score[] },
): Rows {
  return maturing.flatMap(({ period, loadId, last: { age, value } }) => {
    const reach = scores.find((score) => score.age === age)?.reach ?? null;
    const factor = factors.get(age);
    if (reach === null || factor === undefined || value <= 0) return [];
    return [
      {
        metric,
        period,
        load_id: loadId,
        age_days: age,
        factor: factor.value,
        factor_low: factor.value / reach,
        factor_high: factor.value * reach,
        periods: factor.periods,
      },
    ];
  });
}
