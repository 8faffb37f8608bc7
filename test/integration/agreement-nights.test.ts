/** After every night, every total whose time has come is what the service states that morning. */

import { afterEach, expect, test } from 'vitest';

import { addDays, day, MS_PER_DAY, utcOffset } from '../../src/model/calendar.ts';
import { agesIn, cubeMetrics } from '../../src/model/cube.ts';
import { metricsOf } from '../../src/model/metric.ts';
import { endOf, periodsOf } from '../../src/model/period.ts';
import type { Slice } from '../../src/model/slice.ts';
import { explainPlan } from '../../src/run/plan-report.ts';
import { identifier } from '../../src/warehouse/sql.ts';
import { query } from '../support/contents.ts';
import { recordSlowRows, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NIGHTS = Number(process.env['RIPEN_AGREEMENT_NIGHTS'] ?? 45);
const MISSED: ReadonlySet<number> = new Set([9, 10, 24]);
const START = day('2025-01-01');

const world = { apps: 1, partners: 2, links: 6 };
const ages = ['d0', 'd1', 'd3', 'd7', 'd14', 'd30'];
const metrics = [
  'installs',
  'clicks',
  'cost',
  'cohort_revenue',
  ...ages.map((age) => `all_revenue_total_${age}`),
];
const datePeriod = { first: { day: START }, last: { daysAgo: 1 } };
const cube = cubeMetrics({ all_revenue_total: agesIn('d0..d30') ?? [], retained_users: ages });

const slices: readonly Slice[] = [
  slice({ name: 'daily', dimensions: ['day', 'app_token', 'network'], metrics, datePeriod }),
  slice({
    name: 'half_hour',
    dimensions: ['day', 'network'],
    metrics,
    datePeriod,
    utcOffset: utcOffset('+05:30'),
    parameters: { utc_offset: '+05:30' },
  }),
  slice({
    name: 'hourly',
    dimensions: ['hour', 'network'],
    metrics: metrics.slice(0, 5),
    datePeriod,
  }),
  slice({ name: 'weekly', dimensions: ['week', 'network'], metrics, datePeriod }),
  slice({
    name: 'curve',
    dimensions: ['day', 'network'],
    metrics: cube.map(({ metric }) => metric),
    cube,
    datePeriod,
  }),
];

let scenario: Scenario;

afterEach(() => scenario.close());

const nightAt = (night: number, historyDays: number): Date =>
  new Date(`${addDays(START, historyDays + night)}T02:30:00Z`);

interface Compared {
  readonly totals: number;
  readonly different: readonly string[];
}

/** Compares every total whose time has come with the truth of the morning. */
async function compare(of: Slice, asOf: Date): Promise<Compared> {
  const grain = of.grain ?? 'day';
  const parameters = new URLSearchParams({
    ...of.parameters,
    dimensions: grain,
    metrics: of.metrics.join(','),
    date_period: `${START}:${asOf.toISOString().slice(0, 10)}`,
    format_dates: 'false',
  });
  const truth = new Map<string, number>();
  for (const row of scenario.simulator.world.report(parameters, asOf)?.rows ?? []) {
    const start = JSON.stringify(row[grain]).slice(1, 11);
    for (const metric of of.metrics) {
      const cell = `${start} ${metric}`;
      if (row[metric] !== null) truth.set(cell, (truth.get(cell) ?? 0) + Number(row[metric]));
    }
  }
  const stored = new Map<string, number>();
  const sums = of.metrics.map((metric, at) => `sum(${identifier(metric)})::double as m${at}`);
  const sql =
    of.cube === undefined
      ? `select ${identifier(grain)}::date::varchar as start, ${sums.join(', ')} from ${of.name} group by 1`
      : `select ${identifier(grain)}::date::varchar as start, metric, sum(value)::double as value from ${of.name} group by all`;
  for (const row of await query(scenario, sql)) {
    const put = (metric: string, value: unknown): unknown =>
      value !== null && stored.set(`${String(row['start'])} ${metric}`, Number(value));
    if (of.cube === undefined)
      for (const [at, metric] of of.metrics.entries()) put(metric, row[`m${at}`]);
    else put(String(row['metric']), row['value']);
  }
  const last = new Date(asOf.getTime() - MS_PER_DAY).toISOString().slice(0, 10);
  const days = { start: START, end: addDays(day(last), 1) };
  let totals = 0;
  const different: string[] = [];
  for (const period of periodsOf(days, of.grain, of.weekStartsOn)) {
    for (const { id, additive, comparableMs } of metricsOf(of, [])) {
      if (!additive || comparableMs === null || period.requested.end !== period.bucket.end)
        continue;
      if (period.requested.start !== period.bucket.start) continue;
      if (endOf(period, of.utcOffset).getTime() + comparableMs > asOf.getTime()) continue;
      const cell = `${period.bucket.start} ${id}`;
      totals += 1;
      const [one, other] = [stored.get(cell) ?? 0, truth.get(cell) ?? 0];
      if (Math.abs(one - other) > 1e-9 * Math.max(1, Math.abs(other)))
        different.push(`${of.name} ${cell}: ${one}, the service states ${other}`);
    }
  }
  return { totals, different };
}

interface Figures {
  readonly totals: number;
  readonly requests: number;
  /** By slice, after the first night: rows, and those of a download of all that may still change, every night. */
  readonly asked: ReadonlyMap<string, { readonly rows: number; readonly nightly: number }>;
}

/** Runs the nights. After each, no total whose time has come may differ. `isSlow` has rows cost much more than requests. */
async function runNights(
  of: readonly Slice[],
  historyDays: number,
  { isSlow, rowsPerDay }: { readonly isSlow: boolean; readonly rowsPerDay: number },
): Promise<Figures> {
  scenario = await openScenario(of, { simulator: { world: { ...world, rowsPerDay } } });
  const config = { controlMs: 400 * MS_PER_DAY };
  const all = { ...scenario, config: { ...scenario.config, ...config } };
  const asked = new Map<string, { rows: number; nightly: number }>();
  const count = (name: string, rows: number, nightly: number): void => {
    const counts = asked.get(name) ?? { rows: 0, nightly: 0 };
    asked.set(name, { rows: counts.rows + rows, nightly: counts.nightly + nightly });
  };
  let [totals, requests] = [0, 0];
  for (let night = 0; night < NIGHTS; night += 1) {
    if (MISSED.has(night)) continue;
    const asOf = nightAt(night, historyDays);
    if (night > 0) {
      const plan = await explainPlan(all.config, {
        planAt: asOf,
        slices: null,
        emit: () => {},
        signal: AbortSignal.timeout(60_000),
        lockWaitMs: 0,
      });
      for (const { name, refetch_all_rows: rows } of plan.slices) count(name, 0, rows ?? 0);
    }
    const summary = await runNight(all, asOf);
    expect(summary.failures).toEqual([]);
    if (isSlow) await recordSlowRows(scenario);
    requests += summary.service.requests;
    for (const { name, rows } of summary.slices) if (night > 0) count(name, rows.fetched, 0);
    for (const each of of) {
      const compared = await compare(each, asOf);
      expect(compared.different, `night ${night}`).toEqual([]);
      totals += compared.totals;
    }
  }
  const figures = { totals, requests, asked };
  process.stdout.write(`${JSON.stringify({ ...figures, asked: Object.fromEntries(asked) })}\n`);
  return figures;
}

test(
  `${NIGHTS} nights of 5 slices, three of them missed: 0 totals differ from the service after any night`,
  async () => {
    const { totals } = await runNights(slices, 40, { isSlow: false, rowsPerDay: 12 });
    expect(totals).toBeGreaterThan(1000 * NIGHTS);
  },
  NIGHTS * 60_000,
);

test(
  `${NIGHTS} nights of ages up to 120: 0 totals differ, for at most 0.16 of the rows of all that matures, where 0.12 are due without them`,
  async () => {
    const old = ['d7', 'd30', 'd60', 'd120'];
    const mature = slice({
      name: 'mature',
      // So many rows a day that none is requested along.
      dimensions: ['day', 'network', 'campaign', 'country_code', 'os_name'],
      metrics: ['installs', 'cost', ...old.map((age) => `all_revenue_total_${age}`)],
      datePeriod,
    });
    const { asked } = await runNights([mature], 130, { isSlow: true, rowsPerDay: 60 });
    const { rows = 1, nightly = 0 } = asked.get('mature') ?? {};
    expect(rows).toBeLessThanOrEqual(0.16 * nightly);
  },
  NIGHTS * 60_000,
);
