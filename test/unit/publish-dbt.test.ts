/** `sources.yml` as text (test/golden/publish), and read back by a YAML reader as dbt would. */

import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { sourcesYaml } from '../../src/publish/dbt/sources-yaml.ts';
import type { DbtCopy } from '../../src/publish/dbt/source.ts';
import { troubleNames } from '../support/trouble-lake.ts';

const copy: DbtCopy = {
  path: '/srv/data/analytics.duckdb',
  database: 'analytics',
  slices: [],
  sources: [
    {
      name: 'ripen',
      comment: 'Attribution reports.',
      schema: 'main',
      tables: [
        {
          name: 'network_daily',
          comment: `It's "one row": per day # not {{ more }}`,
          columns: [
            { name: 'day', type: 'DATE', comment: 'Day' },
            { name: 'app "x"', type: 'VARCHAR', comment: null },
            { name: 'installs', type: 'BIGINT', comment: 'Installs:\nall of them' },
            { name: '_load_id', type: 'BIGINT', comment: '- the load' },
          ],
          rules: [
            { kind: 'not_null', column: 'day' },
            { kind: 'unique_row', columns: ['day', 'app "x"'] },
            { kind: 'relationships', column: '_load_id', source: 'ripen_ledger', table: 'loads', field: 'load_id' },
          ],
          freshness: {
            query: `select max(loaded_at) from "analytics".ripen.loads`,
            warnAfterHours: 36,
            errorAfterHours: 60,
          },
        },
        {
          name: 'trouble',
          comment: null,
          columns: troubleNames.map((name) => ({ name, type: 'DECIMAL(18,6)', comment: null })),
          rules: [],
          freshness: null,
        },
      ],
    },
    {
      name: 'ripen_ledger',
      comment: 'The ledger.',
      schema: 'ripen',
      tables: [
        {
          name: 'loads',
          comment: 'Loads',
          columns: [
            { name: 'load_id', type: 'BIGINT', comment: null },
            { name: 'verdict', type: 'VARCHAR', comment: null },
          ],
          rules: [
            { kind: 'unique', column: 'load_id' },
            { kind: 'accepted_values', column: 'verdict', values: ['proven', 'unverifiable'] },
          ],
          freshness: null,
        },
      ],
    },
  ],
};

test('sources with descriptions, freshness and tests are the golden file', async () => {
  await expect(sourcesYaml(copy)).toMatchFileSnapshot('../golden/publish/sources.yml');
});

test('every text is read back as it was, a brace as what dbt renders to one, and all 12 names of trouble are quoted', () => {
  const file: unknown = parse(sourcesYaml(copy));
  expect(file).toMatchObject({
    version: 2,
    sources: [
      {
        quoting: { database: true, schema: true, identifier: true },
        tables: [
          {
            description: `It's "one row": per day # not {{ "{" }}{{ "{" }} more }}`,
            config: { loaded_at_query: `select max(loaded_at) from "analytics".ripen.loads` },
            data_tests: [{ unique: { arguments: { column_name: `row("day", "app ""x""")` } } }],
            columns: [
              { name: 'day', quote: true, data_tests: ['not_null'] },
              { name: 'app "x"', quote: true },
              { name: 'installs', description: 'Installs:\nall of them' },
              { description: '- the load' },
            ],
          },
          { columns: troubleNames.map((name) => ({ name, quote: true })) },
        ],
      },
      { schema: 'ripen' },
    ],
  });
});
