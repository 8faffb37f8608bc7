/**
 * The queries analysts are given, of the examples and of the dashboard, on rows with odd texts and missing numbers: every
 * number is the one worked out by hand.
 */

import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { statement } from '../../src/warehouse/sql.ts';
import { query } from '../support/contents.ts';
import { slice } from '../support/slice.ts';
import { openStated, type StatedRow, type StatedWorld } from '../support/stated-service.ts';

const dashboard = (name: string): string =>
  readFileSync(new URL(`../../config/bi/src/published/${name}.sql`, import.meta.url), 'utf8');
const example = (name: string): string => statement(`examples/${name}`);

const ages = [0, 7, 30].map((age) => `all_revenue_total_d${age}`);
const metrics = ['installs', 'clicks', 'cost', 'network_cost', ...ages];
const ofDays = (
  first: string,
  last: string,
  dimensions = ['day', 'app_token', 'app', 'network', 'partner_name'],
) =>
  slice({
    name: 'network_daily',
    dimensions,
    metrics,
    datePeriod: { first: { day: day(first) }, last: { day: day(last) } },
    refresh: 'nightly',
  });

/** The n-th day after one. */
const after = (first: string, days: number): string =>
  new Date(Date.parse(first) + days * 86_400_000).toISOString().slice(0, 10);

/** A row for each of so many days. */
const onDays = (
  first: string,
  days: number,
  of: (nth: number) => Omit<StatedRow, 'day'>,
): StatedRow[] =>
  Array.from({ length: days }, (_, nth) => ({
    app_token: 'app',
    ...of(nth),
    day: after(first, nth),
  }));

/** Some columns of an answer. */
async function columns(sql: string, ...names: string[]): Promise<unknown[][]> {
  return (await query(world, sql)).map((row) => names.map((name) => row[name]));
}

/** When all of April and May is final. */
const LATER = new Date('2026-08-01T10:30:00Z');
const MONDAY = '2026-04-06';

let world: StatedWorld;

test('the revenue of a network that is NULL is set against its spend, as that of any other', async () => {
  world = await openStated([ofDays(MONDAY, MONDAY)]);
  const of = (network: string | null, cost: string | null, revenue: string): StatedRow => {
    return {
      day: MONDAY,
      app_token: 'app',
      network,
      installs: '1',
      cost,
      all_revenue_total_d30: revenue,
    };
  };
  await world.night(LATER, [
    of('paid', '10', '20'),
    of(null, '30', '60'),
    of('', '5', '1'),
    of(`O'Neil "x"`, null, '100'),
  ]);
  expect(await columns(dashboard('days'), 'network', 'spend', 'revenue', 'paid_revenue')).toEqual([
    ['', 5, 1, 1],
    [`O'Neil "x"`, null, 100, null],
    ['paid', 10, 20, 20],
    [null, 30, 60, 60],
  ]);
  expect(
    await columns(example('return_by_network'), 'network', 'spend', 'days_d30', 'roas_d30'),
  ).toEqual([
    [null, '30.000000', '1', 2],
    ['paid', '10.000000', '1', 2],
    ['', '5.000000', '1', 0.2],
    [`O'Neil "x"`, null, '1', null],
  ]);
  expect(
    await columns(dashboard('networks'), 'network', 'spend', 'cost_per_install', 'return_d30'),
  ).toEqual([
    [null, 30, 30, 2],
    ['paid', 10, 10, 2],
    ['', 5, 5, 0.2],
    [`O'Neil "x"`, null, null, null],
  ]);
  expect(await columns(example('final_roas_by_week'), 'network', 'cost', 'roas_d30')).toEqual([
    [null, '30.000000', 2],
    ['paid', '10.000000', 2],
    ['', '5.000000', 0.2],
  ]);
});

describe('a part is not shown as a whole', () => {
  test('a week of which a day is not over is not compared with a whole one', async () => {
    world = await openStated([ofDays(MONDAY, after(MONDAY, 13))]);
    const rows = onDays(MONDAY, 14, () => ({ network: 'paid', installs: '2', cost: '4' }));
    await world.night(new Date('2026-04-19T10:30:00Z'), rows);
    expect(await columns(example('week_over_week'), 'week', 'installs')).toEqual([
      ['2026-04-06', '14'],
    ]);
    await world.night(new Date('2026-04-20T10:30:00Z'), rows);
    expect(await columns(example('week_over_week'), 'week', 'installs_change', 'is_final')).toEqual(
      [
        ['2026-04-13', 0, false],
        ['2026-04-06', null, false],
      ],
    );
  });

  test('a month of installs has an age once all its days are final there, and none where it is loaded in part', async () => {
    world = await openStated([ofDays('2026-03-31', '2026-05-31')]);
    // The last days of May have not reached their thirtieth day: the service states nothing of them yet.
    await world.night(
      new Date('2026-06-20T10:30:00Z'),
      onDays('2026-03-31', 62, (nth) => ({
        network: 'paid',
        installs: '4',
        all_revenue_total_d0: '1',
        all_revenue_total_d7: '2',
        all_revenue_total_d30: nth < 50 ? '3' : null,
      })),
    );
    const curves = ['install_month', 'age_days', 'revenue_per_install'];
    expect(await columns(dashboard('cohorts'), ...curves)).toEqual([
      ['2026-04', 0, 0.25],
      ['2026-04', 7, 0.5],
      ['2026-04', 30, 0.75],
      ['2026-05', 0, 0.25],
      ['2026-05', 7, 0.5],
    ]);
    const weeks = await columns(
      example('cohort_curves'),
      'install_week',
      'age_days',
      'final_days',
      'installs',
      'revenue',
    );
    expect(weeks.filter(([week]) => week === '2026-05-18')).toEqual([
      ['2026-05-18', 0, '7', '28', '7.000000'],
      ['2026-05-18', 7, '7', '28', '14.000000'],
      ['2026-05-18', 30, '2', '8', '6.000000'],
    ]);
    const byAge = await columns(
      example('cohorts_by_age'),
      'age_days',
      'final_days',
      'revenue',
      'revenue_per_day',
    );
    expect(byAge).toEqual([
      [0, '62', '62.000000', 1],
      [7, '62', '124.000000', 2],
      [30, '50', '150.000000', 3],
    ]);
  });
});

test('a ratio rests on the rows and days of which both sides are known and final, money without installs on the whole of a day', async () => {
  world = await openStated([ofDays('2026-04-30', '2026-05-01')]);
  const of = (date: string, network: string | null, values: Omit<StatedRow, 'day'>): StatedRow => {
    return { day: date, app_token: 'app', network, ...values };
  };
  // Of the second day the installs, the first revenue and the spend are final, revenue after 30 days is not.
  await world.night(new Date('2026-06-01T01:30:00Z'), [
    of('2026-04-30', null, {
      installs: '4',
      cost: '8',
      all_revenue_total_d7: '2',
      all_revenue_total_d30: '16',
    }),
    of('2026-05-01', null, {
      installs: '1',
      cost: '2',
      all_revenue_total_d7: '3',
      all_revenue_total_d30: '99',
    }),
    of('2026-05-01', null, {
      partner_name: 'p',
      installs: '5',
      cost: null,
      all_revenue_total_d7: '50',
    }),
    of('2026-05-01', 'early', { installs: null, clicks: '0', cost: '7' }),
    of('2026-05-01', 'zero', { installs: '0', cost: '0', all_revenue_total_d7: '0' }),
  ]);
  const shown = ['network', 'spend', 'cost_per_install', 'roas_d7', 'roas_d30'];
  expect(await columns(example('ratios_by_network'), ...shown)).toEqual([
    [null, '10.000000', 2, 0.5, 2],
    ['early', '7.000000', null, null, null],
    ['zero', '0.000000', null, null, null],
  ]);
  expect(await columns(example('return_by_network'), 'network', 'roas_d7', 'roas_d30')).toEqual([
    [null, 0.5, 2],
    ['early', null, null],
    ['zero', null, null],
  ]);
  expect(await columns(example('final_roas_by_week'), 'network', 'roas_d30')).toEqual([[null, 2]]);
  const byMonth = await columns(
    example('spend_by_month'),
    'month',
    'network',
    'installs',
    'cost_per_install',
  );
  expect(byMonth.filter(([, network]) => network === null)).toEqual([
    ['2026-05-01', null, '6', 2],
    ['2026-04-01', null, '4', 2],
  ]);
  expect(
    await columns(example('spend_without_installs'), 'day', 'network', 'clicks', 'cost'),
  ).toEqual([['2026-05-01', 'early', '0', '7.000000']]);
});
