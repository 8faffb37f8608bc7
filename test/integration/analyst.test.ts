/** What analysts are given beside the tables of a published snapshot: comments, ratios over any rows, cohorts in long form. */

import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { ratioOf } from '../../src/model/metric-forms.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const ratios = [
  'ctr',
  'click_conversion_rate',
  'installs_per_mile',
  'organic_install_rate',
  'ecpi',
  'ecpi_all',
  'ecpm',
  'ecpi_network',
  'network_ecpi',
  'network_ecpc',
  'roas_d7',
  'roas_ad_d7',
  'retention_rate_d7',
  'revenue_per_user_d7',
];
const parts = new Set(
  ratios.flatMap((id) => {
    const ratio = ratioOf(id);
    if (ratio === null) throw new Error(`${id} is no known ratio`);
    return [ratio.numerator, ratio.denominator];
  }),
);
const metrics = [
  ...ratios,
  ...parts,
  'daus',
  'retained_users_d0',
  'retained_users_d30',
  'retained_users_w1',
];
const wide = slice({
  name: 'wide',
  dimensions: ['day', 'network'],
  metrics,
  datePeriod: { first: { daysAgo: 45 }, last: { daysAgo: 1 } },
});
const monthly = slice({
  name: 'monthly',
  dimensions: ['month', 'app_token'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { daysAgo: 60 }, last: { daysAgo: 1 } },
});

let scenario: Scenario;
let snapshot = '';

beforeAll(async () => {
  scenario = await openScenario([wide, monthly], {
    simulator: { world: { apps: 2, partners: 4, links: 20, rowsPerDay: 60 } },
  });
  snapshot = join(scenario.directory, 'a.duckdb');
  const change = {
    publish: [{ kind: 'duckdb', path: snapshot, mode: 0o600 }],
    partners: true,
  } as const;
  for (const night of ['2026-06-01T10:30:00Z', '2026-06-02T10:30:00Z']) {
    const { failures } = await scenario.night(new Date(night), {
      ...change,
      links: { apps: 'all', maxLevel: 4, everyMs: 0 },
    });
    if (failures.length > 0) throw new Error(`The night failed: ${JSON.stringify(failures)}`);
  }
});

afterAll(() => scenario.close());

describe('comments', () => {
  test('stand on every table, view and column of the snapshot', async () => {
    const objects = await ask(
      snapshot,
      `select count(*)::integer as columns,
           coalesce(string_agg(table_name || '.' || column_name, ' ') filter (where coalesce(comment, '') = ''), '') as mute
       from duckdb_columns() where not internal and schema_name <> 'information_schema'`,
    );
    expect(objects).toMatchObject([{ mute: '' }]);
    expect(Number(objects[0]?.['columns'])).toBeGreaterThan(150);
    const tables = await ask(
      snapshot,
      `select coalesce(string_agg(name, ' '), '') as mute from (
           select table_name as name, comment from duckdb_tables() union all
           select view_name, comment from duckdb_views() where not internal)
       where coalesce(comment, '') = ''`,
    );
    expect(tables).toStrictEqual([{ mute: '' }]);
  });

  test('say of every metric whether it adds up, and of one that does not that it must not be summed', async () => {
    const rows = await ask(
      snapshot,
      `select column_name as name, comment from duckdb_columns() where table_name in ('wide', 'wide_final')`,
    );
    const said = z.array(z.object({ name: z.string(), comment: z.string() })).parse(rows);
    for (const { name, comment } of said.filter((column) => metrics.includes(column.name))) {
      const isSum = !ratios.includes(name) && name !== 'daus';
      expect([
        name,
        comment.includes('must not be summed'),
        comment.includes('adds up over rows'),
      ]).toStrictEqual([name, !isSum, isSum]);
    }
  });
});

describe('ratio()', () => {
  test('is a sum over a sum of the rows that have both, and NULL where there is nothing to divide by', async () => {
    const sql = `select n, ratio(a, b) as r from (values
        ('both', 10.00, 5), ('both', null, 95), ('both', 7.00, null), ('both', 2.00, 3),
        ('zero', 3.00, 0), ('none', null, 4)) as t(n, a, b) group by n order by n`;
    expect(await ask(snapshot, sql)).toStrictEqual([
      { n: 'both', r: 1.5 },
      { n: 'none', r: null },
      { n: 'zero', r: null },
    ]);
  });

  test.each(ratios)(
    'as the comment of %s states it, is the value of each row and the sum over the sum of many',
    async (id) => {
      const [column] = await ask(
        snapshot,
        `select comment from duckdb_columns() where table_name = 'wide' and column_name = '${id}'`,
      );
      const [, stated = ''] =
        /over rows it is ((?:\d+ \* )?ratio\([^)]*\))/.exec(String(column?.['comment'])) ?? [];
      const [rows] = await ask(
        snapshot,
        `select count(*)::integer as rows, max(abs(r - v) / greatest(abs(v), 1e-3)) as worst
       from (select "day", network, ${stated} as r, any_value("${id}") as v from wide group by all)
       where v is not null and r is not null`,
      );
      expect(Number(rows?.['rows'])).toBeGreaterThan(20);
      // The service rounds money ratios to a hundredth of the currency or finer.
      expect(Number(rows?.['worst'])).toBeLessThan(0.02);
      const ratio = ratioOf(id);
      const cells = z
        .array(z.object({ a: z.number(), b: z.number() }))
        .parse(
          await ask(
            snapshot,
            `select "${ratio?.numerator}"::double as a, "${ratio?.denominator}"::double as b from wide_final where a is not null and b is not null`,
          ),
        );
      const sum = (values: readonly number[]): number =>
        values.reduce((total, value) => total + value, 0);
      const byHand =
        ((ratio?.factor ?? 1) * sum(cells.map(({ a }) => a))) / sum(cells.map(({ b }) => b));
      const [answer] = await ask(snapshot, `select ${stated} as r from wide_final`);
      expect(Number(answer?.['r'])).toBeCloseTo(byHand, 6);
    },
  );
});

test('the view _cohorts has one row for each cell with a value, its age as a number, as final as the ledger says', async () => {
  const [counts] = await ask(
    snapshot,
    `select
         (select count(*) from wide_cohorts where metric = 'retained_users' and age_days = 30)::integer as long_rows,
         (select count(retained_users_d30) from wide)::integer as cells,
         (select sum("value") from wide_cohorts where metric = 'retained_users' and age_days = 0)::integer as long_sum,
         (select sum(retained_users_d0) from wide)::integer as sum,
         (select count(*) from wide_cohorts where metric = 'roas' and is_final)::integer as long_final,
         (select count(roas_d7) from wide_final)::integer as final`,
  );
  expect(counts?.['long_rows']).toBe(counts?.['cells']);
  expect(Number(counts?.['cells'])).toBeGreaterThan(20);
  expect(counts?.['long_sum']).toBe(counts?.['sum']);
  expect(counts?.['long_final']).toBe(counts?.['final']);
  expect(Number(counts?.['final'])).toBeGreaterThan(20);
  const [other] = await ask(
    snapshot,
    `select count(*)::integer as unlike from wide_cohorts as c
     join ripen.finality as f on f.slice = 'wide' and f.period = c."day" and f.metric = c.metric || '_d' || c.age_days
     where f.is_final <> c.is_final`,
  );
  expect(other).toStrictEqual({ unlike: 0 });
});
