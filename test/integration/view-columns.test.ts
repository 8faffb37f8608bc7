/** The views ripen makes of a slice: none gives two columns one name, and each knows what is final, whatever the date of the slice. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { query } from '../support/contents.ts';
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
