/**
 * What a slice's own history says of its unfinal values: how they ripen, what to expect of them, and how well that would
 * have done. measured again after each run, from the ledger alone; never mixed into what the service said.
 */

import { MS_PER_DAY } from '../model/calendar.ts';
import { commentOn, declare, lastSaid } from '../warehouse/declaring.ts';
import { asScript, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { adaptiveCost } from './adaptive-ages.ts';
import { projected, scoresOf, type Counted, type Score } from './backtest.ts';
import { type Development, maturationOf, valueAt } from './development.ts';
import { horizonEvidence } from './horizon-evidence.ts';
import { readTriangles, type Triangle } from './read-developments.ts';
import { byLastDay, expectationsOf, Pasts, standingOn, trialsOf } from './trials.ts';
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
  adaptive_refreshes: 'insight/record_adaptive_refreshes',
} as const;

const INSTALLS = 'installs';
const EVER = Number.POSITIVE_INFINITY;

/** What adaptive refreshes would cost is told for these tolerances, and the configured one. */
const TOLERANCES = [0.005, 0.01, 0.02, 0.05];

/**
 * Measures a slice's live table and brings its views `_maturation` and `_projected` up to it, in one transaction. `tolerance` is
 * that of a slice with adaptive refreshes, null for others.
 */
export async function refreshInsight(warehouse: Warehouse, live: LiveTable, tolerance: number | null): Promise<void> {
  const { slice } = live;
  if (slice.grain === null || ripening(live).length === 0) return forgetInsight(warehouse, slice.name);
  const triangles = await readTriangles(warehouse, live);
  const pasts = new Pasts();
  const each = [...triangles].map(([metric, triangle]) =>
    measure(
      { metric, triangle, lower: lowerOf(metric, triangles), counted: countedOf(metric, triangles, live), pasts },
      live,
    ),
  );
  const measured = [
    ['maturation', each.flatMap(({ maturation }) => maturation)],
    ['projections', each.flatMap(({ projections: of }) => of)],
    ['projection_errors', each.flatMap(({ projection_errors: of }) => of)],
    ['horizon_evidence', each.flatMap(({ horizon_evidence: of }) => of)],
    ['adaptive_refreshes', adaptiveRefreshes(live, triangles, tolerance)],
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

const declarationOf = (slice: string) => ({
  name: `insight ${slice}`,
  slice,
  relations: [`main.${slice}_maturation`, `main.${slice}_projected`],
});

/** Of a slice that has nothing left that ripens, removes what was measured, and the views, which read columns that are gone. */
async function forgetInsight(warehouse: Warehouse, slice: string): Promise<void> {
  const declaration = declarationOf(slice);
  const [said] = await lastSaid(warehouse, [declaration.name]);
  if (said === '') return;
  const statements = [
    ...[maturationName(slice), projectedName(slice)].map((view) => `drop view if exists ${view}`),
    ...forgetting(slice),
  ];
  await warehouse.transact(() =>
    declare(warehouse, { ...declaration, from: statements, statements: () => Promise.resolve(statements) }),
  );
}

async function declareViews(warehouse: Warehouse, live: LiveTable): Promise<void> {
  const { slice } = live;
  const dimensions = slice.dimensions.map((name) => [name, `${name} (dimension), as in ${slice.name}`] as const);
  const [view, comments] = [projectedView(live), [...dimensions, ...projectedComments]];
  const statements = [
    maturationView(live),
    ...commentOn('view', maturationName(slice.name), maturationText(slice.name), maturationComments),
    ...(view === null
      ? [`drop view if exists ${projectedName(slice.name)}`]
      : [view, ...commentOn('view', projectedName(slice.name), projectedText(slice.name), comments)]),
  ];
  await declare(warehouse, {
    ...declarationOf(slice.name),
    from: statements,
    statements: () => Promise.resolve(statements),
  });
}

const maturationText = (slice: string): string =>
  `How much of the final totals of ${slice} was known at each age, in quartiles over final periods; no rows with too little history.`;
const projectedText = (slice: string): string =>
  `Projections, not measurements: the final value to expect of each maturing cell of ${slice}, with an 80 % interval; ripen.projection_errors says how well that did, and why a metric is missing here.`;

/** The same metric at lower cohort ages: `revenue_d7` under `revenue_d30`. */
function lowerOf(metric: string, triangles: ReadonlyMap<string, Triangle>): Map<string, Development> {
  const age = (name: string): RegExpExecArray | null => /^(.*_[dwm])(\d+)$/.exec(name);
  const [, stem, count] = age(metric) ?? [];
  if (stem === undefined) return new Map();
  return new Map(
    [...triangles].flatMap(([name, { development }]) => {
      const [, otherStem, otherCount] = age(name) ?? [];
      return otherStem === stem && Number(otherCount) < Number(count) ? [[name, development]] : [];
    }),
  );
}

/**
 * What tells how much stands behind the totals of a metric: the installs of the slice, as the users all else comes from; without
 * them the metric itself where it counts.
 */
function countedOf(metric: string, triangles: ReadonlyMap<string, Triangle>, { metrics }: LiveTable): Counted | null {
  const isCount = metrics.some(({ id, type }) => id === metric && type.kind === 'BIGINT');
  const name = triangles.has(INSTALLS) || !isCount ? INSTALLS : metric;
  const development = triangles.get(name)?.development;
  return development === undefined ? null : { name, development };
}

/** The rows of one metric in each of the ledger's tables of insight. */
interface Measured {
  readonly maturation: readonly Readonly<Record<string, unknown>>[];
  readonly projections: readonly Readonly<Record<string, unknown>>[];
  readonly projection_errors: readonly Readonly<Record<string, unknown>>[];
  readonly horizon_evidence: readonly Readonly<Record<string, unknown>>[];
}

interface Measurable {
  readonly metric: string;
  readonly triangle: Triangle;
  readonly lower: ReadonlyMap<string, Development>;
  readonly counted: Counted | null;
  readonly pasts: Pasts;
}

function measure(measurable: Measurable, live: LiveTable): Measured {
  const { metric, triangle, lower, counted, pasts } = measurable;
  const { development } = triangle;
  const scores = scoresOf(development, trialsOf({ own: development, lower }, pasts), counted);
  return {
    maturation: maturationOf(development).map(({ age, periods, q25, median, q75 }) => {
      return { metric, age_days: age, periods, share_q25: q25, share_median: median, share_q75: q75 };
    }),
    projections: projections(measurable, scores),
    horizon_evidence: evidence(metric, triangle, live),
    projection_errors: scores.map((score) => ({
      metric,
      age_days: score.age,
      cohorts: score.cohorts,
      median_abs_error: score.medianError,
      median_abs_error_as_is: score.medianErrorAsIs,
      median_abs_error_average_share: score.medianErrorAverageShare,
      coverage: score.coverage,
      method: score.choice?.method ?? null,
      reason: score.reason,
    })),
  };
}

function adaptiveRefreshes(
  { metrics }: LiveTable,
  triangles: ReadonlyMap<string, Triangle>,
  tolerance: number | null,
): Measured['maturation'] {
  const tolerances = new Set(tolerance === null ? TOLERANCES : [...TOLERANCES, tolerance]);
  return [...tolerances].map((each) => {
    const cost = adaptiveCost(metrics, triangles, each);
    return {
      tolerance: each,
      is_configured: each === tolerance,
      ages_left_out: cost.agesLeftOut,
      fetches: cost.fetches,
      fetches_left_out: cost.fetchesLeftOut,
      rows: cost.rows,
      rows_left_out: cost.rowsLeftOut,
      totals: cost.totals,
      totals_differed: cost.totalsDiffered,
      most_differed: cost.mostDiffered,
    };
  });
}

function evidence(metric: string, { looks }: Triangle, live: LiveTable): Measured['maturation'] {
  const horizonMs = ripening(live).find(({ id }) => id === metric)?.horizonMs ?? null;
  if (horizonMs === null) return [];
  const horizonDays = horizonMs / MS_PER_DAY;
  const { changed, changedAfterFinal, proposedDays, looks: compared } = horizonEvidence(looks, horizonDays);
  return [
    {
      metric,
      horizon_days: horizonDays,
      looks: compared,
      changed,
      changed_after_final: changedAfterFinal,
      proposed_days: proposedDays === null ? null : Math.ceil(proposedDays),
    },
  ];
}

function projections(
  { metric, triangle: { development, maturing }, lower, pasts }: Measurable,
  scores: readonly Score[],
): Measured['projections'] {
  const choices = new Map(scores.map(({ age, choice }) => [age, choice]));
  const standing = standingOn({ own: development, lower }, EVER, pasts);
  const below = new Map([...lower].map(([name, each]) => [name, byLastDay(each)]));
  return maturing.flatMap(({ period, loadId, cohort, last: { age, value } }) => {
    const choice = choices.get(age) ?? null;
    const { lastDay } = cohort;
    const expected = expectationsOf(standing, { lastDay, age, value }, (name) => {
      const found = below.get(name)?.get(lastDay);
      return found === undefined ? null : valueAt(found, age);
    });
    const projection = choice === null ? null : projected(expected, choice);
    if (projection === null || value <= 0) return [];
    return [
      {
        metric,
        period,
        load_id: loadId,
        age_days: age,
        method: projection.method,
        factor: projection.value / value,
        factor_low: projection.low / value,
        factor_high: projection.high / value,
        periods: projection.cohorts,
      },
    ];
  });
}
