/** What `_projected` shows of rows and control totals that do not belong together. */

import { afterEach, expect, test } from 'vitest';

import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import {
  type Aim,
  type AnsweringWorld,
  atCopy,
  copyOf,
  countAsked,
  openAnswering,
  type TrueRow,
} from '../support/answering.ts';
import { column } from '../support/contents.ts';
import { refused } from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

let world: AnsweringWorld;

afterEach(() => world.scenario.close());

const config = { controlMs: 400 * MS_PER_DAY };
const [ONE, TWO] = ['oneapp123456', 'twoapp123456'];
const BAD = '2026-06-02';
const DAYS = ['2026-06-01', BAD, '2026-06-03'];

const rowsOf = (installs: Readonly<Record<string, string>>): TrueRow[] =>
  DAYS.flatMap((date) =>
    Object.entries(installs).map(([token, value]) => {
      return { day: date, app_token: token, app: `App ${token}`, installs: value, clicks: value };
    }),
  );

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'clicks'],
  datePeriod: { first: { day: day('2026-06-01') }, last: { day: day('2026-06-03') } },
});

const FIRST_DAY = { first: { day: day('2026-06-01') }, last: { day: day('2026-06-01') } };

const projected = async (name: string): Promise<string[]> =>
  column(
    world.scenario,
    `select strftime(day, '%d') || ' ' || metric || ' ' || basis || coalesce(' ' || sum(projected)::varchar, '')
     from ${name}_projected group by day, metric, basis order by day, metric, basis`,
  );

test.each([
  ['', '01 all_revenue_total_d7 stated 100.0'],
  ['no ', '01 all_revenue_total_d7 no control totals'],
])(
  'of rows that were loaded on a night on which %scontrol totals were read, %s is shown',
  async (none, shown) => {
    const cohorts = { ...daily, metrics: ['all_revenue_total_d7'], datePeriod: FIRST_DAY };
    const grown = (value: string) => [
      { day: '2026-06-01', app_token: ONE, app: 'One', all_revenue_total_d7: value },
    ];
    world = await openAnswering([cohorts], grown('30'));
    expect((await world.night(3, { config })).failures).toEqual([]);
    world.rows = grown('85');
    const restore = none === '' ? () => {} : world.rewrite({ part: 'whole' }, refused(400));
    expect((await world.night(8, { config })).failures).toEqual([]);
    restore();
    world.rows = grown('100');
    world.rewrite({ part: 'undivided' }, refused(400));
    expect((await world.night(20, { config })).failures).toHaveLength(1);
    expect(await projected('daily')).toEqual([shown]);
  },
);

test('a period with rejected rows, or rows that do not add up to their totals, is not projected though its final total is known', async () => {
  const tolerant = copyOf({ ...daily, name: 'tolerant', maxRejects: 9 }, 0);
  const lenient = copyOf({ ...daily, name: 'lenient', completeness: 'warn' }, 1);
  world = await openAnswering([tolerant, lenient], rowsOf({ [ONE]: '100', [TWO]: '60' }));
  const ofRows: Aim = { matches: ({ part }) => part !== 'whole' };
  const isBad = (row: Readonly<Record<string, unknown>>) =>
    row['day'] === BAD && row['app_token'] === TWO;
  world.rewrite(atCopy(0, ofRows), (report) => {
    const rows = report.rows.map((row) =>
      isBad(row) ? Object.assign({}, row, { installs: '1,060' }) : row,
    );
    return json({ ...report, rows });
  });
  world.rewrite(atCopy(1, ofRows), (report) =>
    json({ ...report, rows: report.rows.filter((row) => !isBad(row)) }),
  );
  expect((await world.night(20, { config })).failures).toEqual([]);
  for (const { name } of [tolerant, lenient])
    expect(await projected(name), name).toEqual(['02 clicks incomplete', '02 installs incomplete']);
});

test('a period with rows of a lost app, or that stays as it is for one, is not projected, the days after its loss are', async () => {
  const cube = cubeMetrics({ cohort_size: ['d1', 'd14'] });
  const datePeriod = { first: { day: day('2026-06-01') }, last: { daysAgo: 1 } } as const;
  const of = { ...daily, metrics: ['cohort_size_d14'], datePeriod };
  const curve = {
    ...of,
    name: 'curve',
    dimensions: ['day'],
    cube,
    metrics: cube.map(({ metric }) => metric),
  };
  const rows = [...DAYS, '2026-06-18'].flatMap((date) =>
    [ONE, TWO].map((token) => {
      const [cohort_size_d1, cohort_size_d14] = ['50', '60'];
      return { day: date, app_token: token, app: `App ${token}`, cohort_size_d1, cohort_size_d14 };
    }),
  );
  world = await openAnswering([of, curve], rows, { apps: [ONE, TWO] });
  expect((await world.night(11, { config })).failures).toEqual([]);
  world.apps = [ONE];
  expect((await world.night(20, { config })).failures).toEqual([]);
  const lost = ['01', '02', '03'].map((date) => `${date} cohort_size_d14 lost app`);
  const young = '18 cohort_size_d14 too little history';
  expect(await projected('daily')).toEqual([...lost, young]);
  const youngest = '18 cohort_size_d1 too little history';
  expect(await projected('curve')).toEqual([...lost, youngest, young]);
});

test('a control total that was computed days before it was requested is no final one, and neither replaces a newer one nor is requested twice', async () => {
  const of = { ...daily, metrics: ['installs'] };
  const rows = (installs: string) => rowsOf({ [ONE]: installs });
  const computed = (at: string) => (report: object) =>
    json({ ...report, debug: { cached_at: at } });
  const stated = () =>
    column(
      world.scenario,
      `select distinct round(value) || ' ' || seen_at from ripen.control_totals order by 1`,
    );
  world = await openAnswering([of], rows('100'));
  expect((await world.night(5, { config })).failures).toEqual([]);
  world.rows = rows('90');
  const older = world.rewrite({}, computed('2026-06-05T01:00:00Z'));
  expect((await world.night(19, { config })).failures).toEqual([]);
  expect(await stated()).toEqual(['100.0 2026-06-05 02:30:00']);
  older();
  world.rows = rows('110');
  world.rewrite({}, computed('2026-06-06T01:00:00Z'));
  expect((await world.night(20, { config })).failures).toEqual([]);
  expect(await stated()).toEqual(['100.0 2026-06-05 02:30:00', '110.0 2026-06-06 01:00:00']);
  const shown = DAYS.map((date) => `${date.slice(8)} installs too little history`);
  expect(await projected('daily')).toEqual(shown);
  world.asked = [];
  expect((await world.night(20, { config })).failures).toEqual([]);
  expect(countAsked(world, { part: 'whole' })).toBe(0);
});
