/** The models of `ripen publish --dbt FOLDER`, run on both copies: every cell as published, and final exactly where it is. */

import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { dbtCopy } from '../../src/publish/dbt/copy.ts';
import type { DbtCopy } from '../../src/publish/dbt/source.ts';
import { identifier } from '../../src/warehouse/sql.ts';
import { buildModels, rendered, type DbtProject } from '../support/dbt.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const until = { last: { daysAgo: 1 } } as const;
const slices = [
  slice({
    name: 'by_day',
    dimensions: ['day', 'app_token', 'network'],
    metrics: ['installs', 'cost', 'ecpi', 'cohort_size_d0', 'all_revenue_total_d7', 'cohort_size'],
    datePeriod: { first: { day: day('2026-02-20') }, ...until },
  }),
  slice({
    name: 'by_hour',
    dimensions: ['hour', 'os_name'],
    metrics: ['installs', 'cost'],
    datePeriod: { first: { day: day('2026-03-10') }, ...until },
  }),
  slice({
    name: 'by_month',
    dimensions: ['month', 'app_token'],
    metrics: ['installs', 'revenue'],
    datePeriod: { first: { day: day('2026-01-01') }, ...until },
  }),
  slice({
    name: 'undated',
    dimensions: ['app_token'],
    metrics: ['installs', 'cost'],
    datePeriod: { first: { day: day('2026-02-01') }, last: { day: day('2026-02-28') } },
  }),
];
const rowsFinal = { by_day: 0, by_hour: 534, by_month: 4, undated: 2 };

let scenario: Scenario;

beforeAll(async () => {
  scenario = await openScenario(slices, { simulator: { world: smallWorld } });
  const path = (name: string): string => join(scenario.directory, name);
  const copies = [
    { kind: 'duckdb', path: path('analytics.duckdb'), mode: 0o644 },
    { kind: 'delta', path: path('tables'), mode: 0o644, keepMs: 86_400_000 },
  ] as const;
  const summary = await scenario.night(new Date('2026-04-01T06:00:00Z'), { publish: copies });
  for (const failure of summary.failures) throw new Error(failure.message);
});
afterAll(async () => scenario.close());

describe.each(['duckdb', 'delta'] as const)('the models over the %s copy', (kind) => {
  let copy: DbtCopy;
  let project: DbtProject;

  beforeAll(async () => {
    const path = join(scenario.directory, kind === 'duckdb' ? 'analytics.duckdb' : 'tables');
    const target = kind === 'duckdb' ? { kind, path, mode: 0o644 } : { kind, path, mode: 0o644, keepMs: 1 };
    copy = await scenario.inWarehouse(async (warehouse) => dbtCopy({ publish: [target], slices }, warehouse));
    project = await buildModels(copy);
  });
  afterAll(() => {
    project.close();
  });

  test('are one per slice, and one mart', () => {
    expect(project.models).toStrictEqual([
      'stg_by_day',
      'stg_by_hour',
      'stg_by_month',
      'stg_undated',
      'by_day_final_totals',
    ]);
  });

  test.each(Object.entries(rowsFinal))(
    'that of %s has every column with its type and every row, and is final where the final view is; wholly in %i rows',
    async (name, wholly) => {
      const { columns = [], metrics = [] } = copy.slices.find((each) => each.name === name) ?? {};
      const described = await project.rows(`select column_name, column_type from (describe stg_${name})`);
      expect(described.slice(0, columns.length)).toStrictEqual(
        columns.map(({ name: column, type }) => ({ column_name: column, column_type: type })),
      );
      expect(described.slice(columns.length).map((column) => column['column_name'])).toStrictEqual([
        'is_final',
        ...metrics.map((metric) => `${metric}_is_final`),
      ]);
      const names = columns.map((column) => identifier(column.name)).join(', ');
      const shown = columns.map(({ name: column }) =>
        metrics.includes(column)
          ? `case when ${identifier(`${column}_is_final`)} then ${identifier(column)} end as ${identifier(column)}`
          : identifier(column),
      );
      const published = `${identifier(copy.database)}.main`;
      for (const [one, other] of [
        [`select ${names} from stg_${name}`, `select ${names} from ${published}.${name}`],
        [`select ${shown.join(', ')} from stg_${name}`, `select ${names} from ${published}.${name}_final`],
      ] as const) {
        expect(await project.rows(`(${one}) except all (${other})`)).toStrictEqual([]);
        expect(await project.rows(`(${other}) except all (${one})`)).toStrictEqual([]);
      }
      const every = metrics.map((metric) => identifier(`${metric}_is_final`)).join(' and ');
      expect(
        await project.rows(
          `select (count(*) filter (where is_final))::integer as final, bool_and(is_final = (${every})) as agrees
           from stg_${name}`,
        ),
      ).toStrictEqual([{ final: wholly, agrees: true }]);
    },
  );

  test('the mart has a row a day, and each total is the sum of what is final, NULL before', async () => {
    const sums = ['installs', 'cost', 'cohort_size_d0', 'all_revenue_total_d7', 'cohort_size'];
    const mart = await project.rows(`select * from by_day_final_totals order by day`);
    expect(Object.keys(mart[0] ?? {})).toStrictEqual(['day', ...sums]);
    expect(mart).toStrictEqual(
      await project.rows(
        `select day, ${sums.map((metric) => `sum(${metric}) as ${metric}`).join(', ')}
         from ${identifier(copy.database)}.main.by_day_final group by day order by day`,
      ),
    );
    expect(mart.filter((total) => total['cost'] === null)).toHaveLength(14);
    expect(mart.filter((total) => total['all_revenue_total_d7'] === null)).toHaveLength(8);
  });
});

test('a command that dbt does not know is none', async () => {
  const copy = { path: '', database: 'd', sources: [], slices: [] };
  expect(rendered('{{ "{" }}{{ ref(\'a\') }}', copy)).toBe('{"a"');
  expect(() => rendered(`{{ source('a', 'b') }}`, copy)).toThrow('does not know');
  expect(() => rendered('{% if x %}', copy)).toThrow('does not know');
});
