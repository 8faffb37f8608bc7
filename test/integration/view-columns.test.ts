/** The views ripen makes of a slice: none gives two columns one name, and each knows what is final, whatever the date of the slice. */

import { describe, expect, test } from 'vitest';

import { day, utcOffset } from '../../src/model/calendar.ts';
import { column, query } from '../support/contents.ts';
import { slice } from '../support/slice.ts';
import { openStated, type StatedWorld } from '../support/stated-service.ts';

const MONDAY = '2026-04-06';
const LATER = new Date('2026-08-01T10:30:00Z');
let world: StatedWorld;

/** Names of dimensions, and the views that have such a column of their own. */
const odd: readonly (readonly [name: string, without: readonly string[]])[] = [
  ['value', ['_cohorts', '_projected']],
  ['Metric', ['_cohorts', '_projected']],
  ['AGE_days', ['_cohorts', '_projected']],
  ['is_Final', ['_cohorts']],
  ['projected', ['_projected']],
  ['LOW', ['_projected']],
  ['high', ['_projected']],
  ['periods', ['_projected']],
  ['Link_Token', ['_links']],
  ['is_matched', ['_links']],
  // Names that the text of a view uses, or could.
  ['k_start', []],
  ['k_app', []],
  ['key', []],
  ['period', []],
  ['start_day', []],
];

test('a dimension is a column of every view, under its name; those in which it would stand twice are not made', async () => {
  const nameOf = (at: number): string => `odd${String.fromCodePoint(97 + at)}`;
  const slices = odd.map(([name], at) =>
    slice({
      name: nameOf(at),
      dimensions: ['day', 'app_token', 'network', name],
      metrics: ['installs', 'all_revenue_total_d7'],
      datePeriod: { first: { day: day(MONDAY) }, last: { day: day(MONDAY) } },
    }),
  );
  world = await openStated(slices);
  const row = { day: MONDAY, app_token: 'a', network: 'n', installs: '3', all_revenue_total_d7: '5' };
  const texts = Object.fromEntries(odd.map(([name]) => [name, `of ${name}`]));
  await world.night(LATER, [{ ...row, ...texts }, row]);
  const columns = await query(
    world,
    `select table_name as view, column_name as name, comment
     from duckdb_columns() where schema_name = 'main' and starts_with(table_name, 'odd')`,
  );
  for (const [at, [name, without]] of odd.entries()) {
    const endings = ['_cohorts', '_final', '_links', '_projected'].filter((ending) => !without.includes(ending));
    const own = columns.filter(({ view }) => String(view).startsWith(`${nameOf(at)}_`));
    const views = new Set(own.map(({ view }) => view));
    expect(views).toEqual(new Set([...endings, '_maturation'].map((ending) => `${nameOf(at)}${ending}`)));
    expect(own.filter((each) => String(each['name']).endsWith('_1'))).toEqual([]);
    for (const view of endings.map((ending) => `${nameOf(at)}${ending}`)) {
      const comment = own.find((each) => each['view'] === view && each['name'] === name)?.['comment'];
      expect(comment).toContain(`${name} (dimension)`);
      const values = await query(world, `select "${name}" as said from ${view} order by all`);
      expect(values).toEqual(view.endsWith('_projected') ? [] : [{ said: `of ${name}` }, { said: null }]);
    }
  }
}, 120_000);

describe('installs are final a week and an hour after the end of', () => {
  const first = { day: day(MONDAY) };
  test.each([
    ['an hourly day, in its own offset', 'hour', `${MONDAY}T23:00:00`, '2026-04-13T19:30:00Z', '+05:30'],
    ['a week', 'week', '2026-04-06 - 2026-04-12', '2026-04-20T01:00:00Z', '+00:00'],
    ['a month', 'month', '2026-04', '2026-05-08T01:00:00Z', '+00:00'],
    ['a date period', null, '', '2026-05-08T01:00:00Z', '+00:00'],
  ])('%s', async (_, grain, label, final, offset) => {
    const whole = grain === 'month' || grain === null;
    const dated = slice({
      name: 'd',
      dimensions: [...(grain === null ? [] : [grain]), 'app_token', 'network'],
      metrics: ['installs', 'cost', 'all_revenue_total_d0'],
      datePeriod: whole
        ? { first: { day: day('2026-04-01') }, last: { day: day('2026-04-30') } }
        : { first, last: { day: day(grain === 'hour' ? MONDAY : '2026-04-12') } },
      utcOffset: utcOffset(offset),
      refresh: 'nightly',
    });
    world = await openStated([dated]);
    const row = {
      day: MONDAY,
      app_token: 'a',
      installs: '3',
      cost: '1.5',
      ...(grain === null ? {} : { [grain]: label }),
    };
    const rows = [
      { ...row, network: 'n', all_revenue_total_d0: '5' },
      { ...row, network: null },
    ];
    const state = async () => {
      const cells = await query(world, 'select network, installs, cost from d_final order by network');
      const cohorts = await query(world, 'select network, metric, age_days, "value", is_final from d_cohorts');
      const flags = await column(world, `select metric from ripen.finality where slice = 'd' and is_final order by 1`);
      return [cells.map((each) => [each['network'], each['installs'], each['cost']]), cohorts, flags];
    };
    const cohort = { network: 'n', metric: 'all_revenue_total', age_days: 0, value: '5.000000' };
    await world.night(new Date(Date.parse(final) - 1000), rows);
    expect(await state()).toEqual([
      [
        ['n', null, null],
        [null, null, null],
      ],
      [{ ...cohort, is_final: false }],
      [],
    ]);
    await world.night(new Date(final), rows);
    expect(await state()).toEqual([
      [
        ['n', '3', null],
        [null, '3', null],
      ],
      [{ ...cohort, is_final: true }],
      ['all_revenue_total_d0', 'installs'],
    ]);
    expect(
      await query(world, 'select network, rows, unmatched_rows from ripen.unmatched_rows order by network'),
    ).toEqual([
      { network: 'n', rows: '1', unmatched_rows: '1' },
      { network: null, rows: '1', unmatched_rows: '1' },
    ]);
  });
});
