/** What the watch over final totals costs: its price limit, slices with lifetime values, many filters, one bad metric. */

import { afterEach, expect, test } from 'vitest';

import { drop } from '../../src/index.ts';
import { readStatus } from '../../src/report/status/status.ts';
import { addDays, day, MS_PER_DAY } from '../../src/model/calendar.ts';
import {
  type AnsweringWorld,
  type Asking,
  countAsked,
  gridOf,
  openAnswering,
  type TrueRow,
  withCells,
} from '../support/answering.ts';
import { query } from '../support/contents.ts';
import { recordSlowRows } from '../support/night.ts';
import { slice } from '../support/slice.ts';

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const config = { controlMs: 400 * MS_PER_DAY };
const FIRST = day('2026-03-01');
const metrics = ['installs', 'cost', 'all_revenue_total_d7', 'all_revenue_total_d30'];
const values = { network: ['x', 'y', 'z'] };

const datesTo = (last: string): string[] => {
  const dates: string[] = [];
  for (let date = FIRST; date <= last; date = addDays(date, 1)) dates.push(date);
  return dates;
};

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'network'],
  metrics,
  datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
});

/** So many rows a day that none is requested along where rows are slow. */
const dense = { network: Array.from({ length: 25 }, (_, at) => `n${at}`) };

/** The rows up to the day before a night of June, with money that is worth so much more each night. */
function rowsOn(night: number, drift: number, of = values): TrueRow[] {
  const calm = gridOf(datesTo(addDays(day('2026-06-01'), night - 2)), of, metrics);
  return calm.map((row) =>
    withCells(
      row,
      Object.fromEntries(
        metrics
          .slice(1)
          .map((metric) => [metric, (Number(row[metric]) * (1 + night * drift)).toFixed(6)]),
      ),
    ),
  );
}

/** The rows that each of some nights loads. */
async function rowsOf(nights: readonly number[], drift: number): Promise<number[]> {
  const rows: number[] = [];
  for (const night of nights) {
    world.rows = rowsOn(night, drift, dense);
    const summary = await world.night(night, { config });
    expect(summary.failures).toEqual([]);
    await recordSlowRows(world.scenario);
    rows.push(summary.slices[0]?.rows.fetched ?? 0);
  }
  return rows;
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

test('money that drifts by a millionth for every day, every night, costs at most 1.3 times the rows from the fourth night on, told once', async () => {
  const nights = Array.from({ length: 18 }, (_, at) => at + 1);
  world = await openAnswering([daily], []);
  const calm = await rowsOf(nights, 0);
  await world.scenario.close();
  world = await openAnswering([daily], []);
  const drifting = await rowsOf(nights, 1e-6);
  expect(total(drifting.slice(4))).toBeLessThanOrEqual(1.3 * total(calm.slice(4)));
  expect(world.warnings().filter((text) => text.startsWith('METRIC_RESTLESS'))).toHaveLength(1);
}, 300_000);

test('a metric is restless although most of the final days are too old to be watched, and needs no look once that was told', async () => {
  world = await openAnswering([daily], []);
  const [slices, controlMs] = [[{ ...daily, metrics: ['installs', 'cost'] }], 40 * MS_PER_DAY];
  const states: string[] = [];
  for (const night of [1, 2, 3, 4, 5]) {
    world.rows = rowsOn(night, 1e-6);
    const { as_of: at } = await world.night(night, { config: { controlMs }, slices });
    const { health } = await world.scenario.inWarehouse(async (warehouse) =>
      readStatus({ ...world.scenario.config, controlMs, slices }, warehouse, new Date(at)),
    );
    states.push(health.state);
  }
  expect(world.warnings().filter((text) => text.startsWith('METRIC_RESTLESS'))).toHaveLength(1);
  expect(states).toEqual(['well', 'watch', 'watch', 'well', 'well']);
}, 60_000);

test('a slice with a lifetime value asks for no more rows than without it', async () => {
  const growing = (night: number): TrueRow[] =>
    rowsOn(night, 0).map((row, at) => withCells(row, { cohort_revenue: `${1000 * night + at}` }));
  const fetched = async (of: typeof daily): Promise<number> => {
    let rows = 0;
    world = await openAnswering([of], []);
    for (const night of [1, 2, 3, 4]) {
      world.rows = growing(night);
      const summary = await world.night(night, { config });
      expect(summary.failures).toEqual([]);
      rows += summary.slices[0]?.rows.fetched ?? 0;
    }
    return rows;
  };
  const without = await fetched(daily);
  await world.scenario.close();
  const lasting = { ...daily, metrics: [...metrics, 'cohort_revenue'], lifetimeMs: 0 };
  expect(await fetched(lasting)).toBe(without);
});

test('20 slices with 20 filters ask 20 control totals; of equal filters one', async () => {
  const filtered = (at: number, network: string) =>
    slice({
      ...daily,
      name: `slice_${at}`,
      parameters: { network__in: network },
      datePeriod: { first: { daysAgo: 10 }, last: { daysAgo: 1 } },
    });
  const numbers = Array.from({ length: 20 }, (_, at) => at);
  const networks = numbers.map((at) => `n${at}`);
  const rows = gridOf(datesTo('2026-05-31').slice(-10), { network: networks }, metrics);
  const apart = numbers.map((at) => filtered(at, `n${at}`));
  world = await openAnswering(apart, rows);
  expect((await world.night(1, { config })).failures).toEqual([]);
  expect(countAsked(world, { part: 'whole' })).toBe(20);
  await world.scenario.close();
  const alike = numbers.map((at) => filtered(at, 'n1'));
  world = await openAnswering(alike, rows);
  expect((await world.night(1, { config })).failures).toEqual([]);
  expect(countAsked(world, { part: 'whole' })).toBe(1);
});

test('a metric that the service refuses costs its own slice the control totals, not the others', async () => {
  const good = { ...daily, name: 'good', metrics: ['installs', 'cost'] };
  const bad = { ...daily, name: 'bad', metrics: ['installs', 'no_such_metric'] };
  world = await openAnswering([good, bad], rowsOn(1, 0));
  world.rewrite({ metric: 'no_such_metric' }, () => ({ status: 400 }));
  const summary = await world.night(1, { config });
  expect(summary.failures.map(({ slice: name }) => name)).toContain('bad');
  expect(summary.failures.map(({ slice: name }) => name)).not.toContain('good');
  const warned = world.warnings().filter((text) => text.startsWith('CONTROL_UNREAD'));
  expect(warned).toHaveLength(1);
  world.rows = rowsOn(2, 0).map((row) =>
    row.day === FIRST ? withCells(row, { installs: '7' }) : row,
  );
  world.asked = [];
  await world.night(2, { config, slices: [good, bad] });
  expect(await world.cells(good)).toEqual(world.truth(good));
}, 120_000);

test('a service that hangs on control totals keeps a night waiting for a limited time, told once', async () => {
  const slices = [daily, { ...daily, name: 'other', parameters: { network__in: 'x' } }];
  world = await openAnswering(slices, rowsOn(1, 0));
  world.rewrite({ part: 'whole' }, () => ({ afterMs: 120_000 }));
  const { service } = world.scenario.config;
  if (service.kind !== 'http') throw new Error('a service over HTTP is needed');
  const hasty = { ...config, service: { ...service, requestTimeoutMs: 400 } };
  for (const night of [1, 2]) {
    world.rows = rowsOn(night, 0);
    const summary = await world.night(night, { config: hasty, requestTimeoutMs: 60_000 });
    expect(summary.failures).toEqual([]);
    expect(await world.cells(daily)).toEqual(world.truth(daily));
  }
  const warned = world.warnings().filter((text) => text.startsWith('CONTROL_UNREAD'));
  expect(warned).toHaveLength(2);
}, 60_000);

test('control totals of a slice that is dropped, or of its oldest periods, go with it, but not those that another slice needs', async () => {
  const slices = [daily, { ...daily, name: 'other' }];
  world = await openAnswering(slices, rowsOn(1, 0));
  expect((await world.night(1, { config })).failures).toEqual([]);
  const oldest = async (): Promise<unknown> => {
    const rows = await query(
      world.scenario,
      `select min(starts_at)::date::varchar as first, count(*)::int as totals,
        (select count(*)::int from ripen.control_readings) as readings from ripen.control_totals`,
    );
    return rows[0];
  };
  const days = datesTo('2026-05-31').length;
  const { scenario } = world;
  await drop(scenario.config, { slice: 'other', before: day('2026-03-11'), agree: true });
  expect(await oldest()).toEqual({ first: FIRST, totals: 4 * days, readings: 1 });
  await drop(scenario.config, { slice: 'daily', before: day('2026-03-11'), agree: true });
  expect(await oldest()).toEqual({ first: '2026-03-11', totals: 4 * (days - 10), readings: 1 });
  await drop(scenario.config, { slice: 'daily', agree: true });
  expect(await oldest()).toEqual({ first: '2026-03-11', totals: 4 * (days - 10), readings: 1 });
  await drop(scenario.config, { slice: 'other', agree: true });
  expect(await oldest()).toEqual({ first: null, totals: 0, readings: 0 });
});

test('control totals of earlier meanings of a slice go with it, whole or before a day, and those of another stay', async () => {
  const inEuros = { ...daily, parameters: { ...daily.parameters, currency: 'EUR' } };
  const other = { ...inEuros, name: 'other', parameters: { ...daily.parameters, copy: '1' } };
  world = await openAnswering([daily, other], gridOf(datesTo('2026-03-20'), values, metrics));
  const { scenario } = world;
  await world.night(1, { config });
  await world.night(2, { config, slices: [inEuros, other] });
  const controls = async (): Promise<unknown[]> =>
    query(
      scenario,
      `select count(distinct t.control) as totals, min(t.starts_at)::date::varchar as since,
         (select count(distinct control) from ripen.control_readings) as readings
       from ripen.control_totals as t semi join (
         from ripen.control_totals anti join ripen.slice_tables using (control)) as u using (control)`,
    );
  expect(await controls()).toEqual([{ totals: '1', since: '2026-03-01', readings: '3' }]);
  await drop(scenario.config, { slice: 'daily', before: day('2026-03-11'), agree: true });
  expect(await controls()).toMatchObject([{ totals: '1', since: '2026-03-11' }]);
  await drop(scenario.config, { slice: 'daily', agree: true });
  expect(await controls()).toEqual([{ totals: '0', since: null, readings: '1' }]);
  const left = 'select count(distinct control) as controls from ripen.control_totals';
  expect(await query(scenario, left)).toEqual([{ controls: '1' }]);
});

test('a day that is dropped and loaded again has not moved', async () => {
  world = await openAnswering([daily], rowsOn(1, 0));
  for (const night of [1, 2]) await world.night(night, { config });
  await drop(world.scenario.config, { slice: 'daily', before: day('2026-03-11'), agree: true });
  const summary = await world.night(3, { config });
  expect(summary.slices[0]?.periods['new']).toBeGreaterThan(0);
  const moved = `select name from ripen.news where kind like '%moved'
    union all select metric from ripen_internal.horizon_evidence where final_moved > 0`;
  expect(await query(world.scenario, moved)).toEqual([]);
});

test('corrections of final days that fail night after night keep an older one waiting for one night', async () => {
  const of = { ...daily, metrics: ['installs', 'cost'] };
  const corrected = (day: string): boolean =>
    day === '2026-03-05' || (day >= '2026-04-26' && day <= '2026-05-05');
  const changed = (night: number): TrueRow[] =>
    rowsOn(night, 0, dense).map((row) =>
      corrected(row.day) ? withCells(row, { installs: `${Number(row['installs']) + 7}` }) : row,
    );
  world = await openAnswering([of], rowsOn(1, 0, dense));
  expect((await world.night(1, { config })).failures).toEqual([]);
  await recordSlowRows(world.scenario);
  const matches = ({ part, firstDay, lastDay }: Asking): boolean =>
    part === 'undivided' && firstDay <= '2026-05-05' && lastDay >= '2026-04-26';
  world.rewrite({ matches }, () => ({ status: 400 }));
  const old = "day = '2026-03-05'";
  const truth = world.truth(
    of,
    changed(1).filter((row) => row.day === '2026-03-05'),
  );
  const stored: boolean[] = [];
  for (const night of [2, 3]) {
    world.rows = changed(night);
    const { failures } = await world.night(night, { config });
    expect(failures.length).toBeGreaterThan(0);
    stored.push((await world.cells(of, old)).join() === truth.join());
  }
  expect(stored).toEqual([false, true]);
}, 60_000);

test.each([
  [400, 'SOURCE_REFUSED'],
  [500, 'SOURCE_UNAVAILABLE'],
])(
  'of 8 corrected days in the window of a night, one with %i for ever holds new days for 1 night and the others for 4',
  async (status, code) => {
    const of = { ...daily, metrics: ['installs', 'cost'] };
    const refused = '2026-05-20';
    const days = new Set(datesTo('2026-05-22').filter((date) => date >= '2026-05-15'));
    const changed = (night: number): TrueRow[] =>
      rowsOn(night, 0).map((row) =>
        days.has(row.day) ? withCells(row, { installs: `${Number(row['installs']) + 7}` }) : row,
      );
    world = await openAnswering([of], rowsOn(1, 0));
    expect((await world.night(1, { config })).failures).toEqual([]);
    const matches = ({ part, firstDay, lastDay }: Asking): boolean =>
      part === 'undivided' && firstDay <= refused && lastDay >= refused;
    world.rewrite({ matches, metric: 'cost' }, () => ({ status }));
    const wrongDays: number[] = [];
    for (const night of [2, 3, 4, 5, 6]) {
      world.rows = changed(night);
      const { failures } = await world.night(night, { config });
      expect(failures.map((failure) => failure.code)).toContain(code);
      const [cells, truth] = [await world.cells(of), world.truth(of)];
      const wrong = truth.filter((cell) => !cells.includes(cell)).map((cell) => cell.slice(0, 10));
      wrongDays.push(new Set(wrong).size);
    }
    expect(wrongDays).toEqual([9, 8, 3, 2, 1]);
  },
  60_000,
);

test('2 nights without the service divide no window of the next', async () => {
  const of = { ...daily, metrics: ['installs', 'cost'], refresh: 'nightly' } as const;
  world = await openAnswering([of], rowsOn(1, 0));
  expect((await world.night(1, { config })).failures).toEqual([]);
  const restore = world.rewrite({}, () => ({ status: 503 }));
  for (const night of [2, 3]) {
    world.rows = rowsOn(night, 0);
    const { failures } = await world.night(night, { config });
    expect(failures.map(({ code }) => code)).toEqual(['SOURCE_UNAVAILABLE']);
  }
  restore();
  world.rows = rowsOn(4, 0).map((row) =>
    row.day === '2026-05-15' ? withCells(row, { installs: `${Number(row['installs']) + 7}` }) : row,
  );
  const { failures, slices } = await world.night(4, { config });
  expect([failures, slices[0]?.windows.planned]).toEqual([[], 1]);
  expect(await world.cells(of)).toEqual(world.truth(of));
}, 60_000);

test('a corrected final day of a slice without control totals is news once it was loaded again', async () => {
  const filtered = { ...daily, parameters: { ...daily.parameters, installs__gte: '0' } };
  world = await openAnswering([filtered], rowsOn(1, 0));
  await world.night(1, { config });
  const changed = '2026-03-05';
  world.rows = rowsOn(2, 0).map((row) =>
    row.day === changed && row['network'] === 'x'
      ? withCells(row, { installs: `${Number(row['installs']) + 7}` })
      : row,
  );
  const forced = { slice: 'daily', start: day(changed), end: addDays(day(changed), 1) };
  await world.night(2, { config, request: { command: 'backfill', forced } });
  const sql = `select name, first_period, after - before as more from ripen.news where kind = 'final total moved'`;
  expect(await query(world.scenario, sql)).toEqual([
    { name: 'installs', first_period: changed, more: 7 },
  ]);
});
