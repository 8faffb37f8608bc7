/**
 * What a slice's own history says of its unfinal values: how they ripen, what to expect of them, and how well that would
 * have done. Measured again after each run, from the ledger alone; never mixed into what the service said.
 */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { commentOn, declare } from '../warehouse/declaring.ts';
import { asScript, count, dayShape, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { scoresOf, type Counted, type Score } from './backtest.ts';
import { standings, type Factor } from './chain-ladder.ts';
import { maturationOf, maturedOf } from './development.ts';
import { horizonEvidence } from '../model/horizon-evidence.ts';
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
const measuredTables = {
  'ripen_internal.maturation': 'insight/record_maturation',
  'ripen_internal.projections': 'insight/record_projections',
  'ripen.projection_errors': 'insight/record_projection_errors',
  'ripen_internal.horizon_evidence': 'insight/record_horizon_evidence',
} as const;

const INSTALLS = 'installs';

/** Eight months: old ways of ripening say little of the newest periods, and the backtest is to end within the night. */
const HISTORY_DAYS = 240;

/** Metrics of periods that are measured together: planning the statements takes longer than the work on a few, and many take memory. */
const MOST_TOGETHER = 4_000;

/**
 * Measures the live tables that changed in the run, or in one before it that was killed, and brings their views `_maturation` and
 * `_projected` up to them: a slice of which no total becomes final has neither.
 */
export async function measureTables(warehouse: Warehouse, tables: readonly LiveTable[], runId: string): Promise<void> {
  let [group, cells]: [Changed[], number] = [[], 0];
  for (const changed of await changedTables(warehouse, tables, runId)) {
    const added = changed.periods * changed.live.metrics.length;
    if (group.length > 0 && cells + added > MOST_TOGETHER) {
      await measureGroup(warehouse, group);
      [group, cells] = [[], 0];
    }
    group.push(changed);
    cells += added;
  }
  if (group.length > 0) await measureGroup(warehouse, group);
}

/** A table that changed since it was measured. */
interface Changed {
  readonly live: LiveTable;
  /** The first day of its history; null where no period of it is whole. */
  readonly since: Day | null;
  readonly periods: number;
}

const changedRow = z.object({ slice: z.string(), start_day: dayShape.nullable(), periods: count });

/** The tables that changed in the run, or in one before it that was killed. */
export async function changedTables(
  warehouse: Warehouse,
  tables: readonly LiveTable[],
  runId: string,
): Promise<Changed[]> {
  const rows = await warehouse.rows(statement('insight/changed_histories'), [runId, HISTORY_DAYS], changedRow);
  const changed = new Map(rows.map((row) => [row.slice, row]));
  return tables.flatMap((live) => {
    const found = changed.get(live.slice.name);
    return found === undefined ? [] : [{ live, since: found.start_day, periods: found.periods }];
  });
}

async function measureGroup(warehouse: Warehouse, group: readonly Changed[]): Promise<void> {
  const known = group.flatMap(({ live, since }) =>
    since === null || live.slice.grain === null || adding(live).length === 0 ? [] : [{ live, since }],
  );
  const histories = await readHistories(warehouse, known);
  const each = known.flatMap(({ live }) => {
    const ofSlice = histories.get(live.slice.name) ?? new Map<string, RipeningHistory>();
    return [...ofSlice].map(([metric, history]) =>
      measure({ slice: live.slice.name, metric, history, counted: countedOf(metric, ofSlice, live) }),
    );
  });
  const measured = [
    ['ripen_internal.maturation', each.flatMap(({ maturation }) => maturation)],
    ['ripen_internal.projections', each.flatMap(({ projections: of }) => of)],
    ['ripen.projection_errors', each.flatMap(({ projection_errors: of }) => of)],
    ['ripen_internal.horizon_evidence', each.flatMap(({ horizon_evidence: of }) => of)],
  ] as const;
  const slices = group.map(({ live }) => literal(live.slice.name)).join(', ');
  await warehouse.transact(async () => {
    await warehouse.run(
      asScript(Object.keys(measuredTables).map((table) => `delete from ${table} where slice in (${slices})`)),
    );
    for (const [table, rows] of measured) {
      if (rows.length > 0) await warehouse.run(statement(measuredTables[table]), [JSON.stringify(rows)]);
    }
    for (const { live } of group) await declareViews(warehouse, live);
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

/**
 * What tells how much stands behind the totals of a metric: the installs of the slice, as the users all else comes from; without
 * them the metric itself where it counts.
 */
function countedOf(
  metric: string,
  histories: ReadonlyMap<string, RipeningHistory>,
  { metrics }: LiveTable,
): Counted | null {
  const isCount = metrics.some(({ id, type }) => id === metric && type.kind === 'BIGINT');
  const name = histories.has(INSTALLS) || !isCount ? INSTALLS : metric;
  const development = histories.get(name)?.development;
  return development === undefined ? null : { name, development };
}

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Measurable {
  readonly slice: string;
  readonly metric: string;
  readonly history: RipeningHistory;
  readonly counted: Counted | null;
}

/** The rows of one metric in each of the ledger's tables of insight. */
function measure({
  slice,
  metric,
  history,
  counted,
}: Measurable): Readonly<Record<'maturation' | 'projections' | 'projection_errors' | 'horizon_evidence', Rows>> {
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
      return { slice, metric, age_days: age, periods, share_q25: q25, share_median: median, share_q75: q75 };
    }),
    projections: projections({ slice, metric }, history, { factors, scores }),
    horizon_evidence: [
      {
        slice,
        metric,
        last_change_age: lastChangeAge,
        later_looks: laterLooks,
        matured_periods: matured.length,
        most_at_one_age: Math.max(0, ...read.values()),
      },
    ],
    projection_errors: scores.map((score) => ({
      slice,
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
  of: { readonly slice: string; readonly metric: string },
  { maturing }: RipeningHistory,
  { factors, scores }: { readonly factors: ReadonlyMap<number, Factor>; readonly scores: readonly Score[] },
): Rows {
  return maturing.flatMap(({ period, loadId, last: { age, value } }) => {
    const reach = scores.find((score) => score.age === age)?.reach ?? null;
    const factor = factors.get(age);
    if (reach === null || factor === undefined || value <= 0) return [];
    return [
      {
        ...of,
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
