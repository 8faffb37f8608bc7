/** `ripen publish`: what it says of copies, and what `--ddl` and `--dbt` print of them. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

import {
  carriedOut,
  flags,
  recordedShell,
  type RecordedShell,
} from '../unit/cli-recorded-shell.ts';
import { changeRows } from '../support/ledger-fixtures.ts';
import { textWith } from '../support/matching.ts';
import { ask, openSample, type Sample } from '../support/sample-warehouse.ts';

const SLICES = `
slices:
  - { name: network_daily, dimensions: [day, app_token, network], metrics: [installs, cost], date_period: "2026-01-01:yesterday" }
`;
const SNAPSHOT = '  - duckdb: analytics.duckdb\n';
const LAKE = '  - parquet: lake\n';
const TABLES = '  - delta: tables\n';

let sample: Sample;
let shell: RecordedShell;

beforeEach(async () => {
  sample = await openSample(12, 20);
  shell = recordedShell({ directory: sample.directory });
});

interface Asked {
  readonly ddl?: 'trino' | 'athena';
  readonly dbt?: string;
}

/** Runs the command over a configuration with these targets, and returns what it printed. */
async function printed(targets: string, requested: Asked): Promise<string> {
  await writeFile(
    join(sample.directory, 'ripen.yaml'),
    `service: simulator\nwarehouse: warehouse.duckdb\npublish:\n${targets}${SLICES}`,
  );
  shell.printed.length = 0;
  await sample.lend(async () => {
    await carriedOut(shell, 'publish', ...flags({ quiet: true, lockWait: '5s', ...requested }));
  });
  return shell.printed.join('\n');
}

test('a publish says what it wrote: every file at first, one when one day changed, then nothing in the lake', async () => {
  const said = async (): Promise<string> =>
    (await printed(`${SNAPSHOT}${LAKE}`, {})).replaceAll(`${sample.directory}/`, '');
  expect(await said()).toMatch(
    /^duckdb analytics\.duckdb: 1 file written\nparquet lake: (\d+) files written, _manifest\.json$/,
  );
  await changeRows(sample.warehouse, 'installs = installs + 1', `day = DATE '2026-01-05'`);
  expect(await said()).toBe(
    'duckdb analytics.duckdb: 1 file written\nparquet lake: 1 file written, _manifest.json',
  );
  expect(await said()).toContain('parquet lake: up to date');
});

describe('--ddl', () => {
  test('writes nothing, and describes one lake after the other, each in a schema of its own', async () => {
    const text = await printed(`${LAKE}  - parquet: s3://example-bucket/lake\n`, { ddl: 'trino' });
    expect(
      [...text.matchAll(/create schema if not exists hive\.("\w+")/g)].map(([, name]) => name),
    ).toEqual(['"lake"', '"lake_2"']);
    await expect(readFile(sample.path('lake/_manifest.json'))).rejects.toThrow('ENOENT');
  });

  test('of Athena refuses a lake on a disk, which it cannot read', async () => {
    for (const [targets, because] of [
      [LAKE, 'athena reads s3:// alone'],
      ['  - duckdb: copy.duckdb\n', 'none is configured'],
    ] as const) {
      await expect(printed(targets, { ddl: 'athena' })).rejects.toMatchObject({
        code: 'USAGE_INVALID',
        message: textWith(`There is no lake to describe: ${because}`),
        hint: textWith('Add a delta target to publish where athena reads'),
      });
    }
    expect(
      await printed(`${LAKE}  - parquet: s3://example-bucket/a\n`, { ddl: 'athena' }),
    ).not.toContain(sample.directory);
  });
});

const column = z.object({
  name: z.string(),
  description: z.string().optional(),
  data_type: z.string(),
  quote: z.literal(true),
});
const table = z.object({ name: z.string(), columns: z.array(column) });
const sourcesFile = z.object({
  sources: z.array(z.object({ schema: z.string(), tables: z.array(table) })),
});

test.each([
  [
    'the snapshot',
    SNAPSHOT,
    'analytics.duckdb',
    ['network_daily', 'network_daily_final', 'apps', 'finality', 'loads'],
  ],
  [
    'the catalog of Delta tables',
    TABLES,
    'tables/catalog.duckdb',
    ['network_daily', 'network_daily_final', 'apps'],
  ],
])(
  '--dbt states tables and columns of %s as they are there, each column quoted',
  async (_, target, path, names) => {
    await printed(target, {});
    const { sources } = sourcesFile.parse(parse(await printed(target, { dbt: '-' })));
    const stated = sources.flatMap(({ schema, tables }) =>
      tables.flatMap(({ name, columns }) =>
        columns.map((column) => ({
          schema,
          name,
          column: column.name,
          type: column.data_type,
          comment: column.description ?? null,
        })),
      ),
    );
    const declared = await ask(
      sample.path(path),
      `select schema_name as schema, table_name as name, column_name as column, lower(data_type) as type, comment
     from duckdb_columns() where not internal`,
    );
    for (const column of stated) expect(declared).toContainEqual(column);
    expect(stated.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  },
);
