/** The SQL of copies: the types in files, and what tells that a period of a table changed: contents are equal exactly when the rows are. */

import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { Failure } from '../../src/errors.ts';
import { listTables, readTables } from '../../src/publish/formats/delta-commit.ts';
import { checkpointPath } from '../../src/publish/formats/delta-log.ts';
import { withStore } from '../../src/publish/places/disk.ts';

import { plainType, undivided, type LakeTable } from '../../src/publish/tables.ts';
import { withDatabase } from '../../src/publish/places/database.ts';
import { Contents } from '../../src/publish/contents.ts';

describe('types in the lake', () => {
  test.each([
    ['BIGINT', 'BIGINT'],
    ['DECIMAL(38,12)', 'DECIMAL(38,12)'],
    ['DATE', 'DATE'],
    ['TIMESTAMP', 'TIMESTAMP'],
    ['HUGEINT', 'DECIMAL(38,0)'],
    ['JSON', 'VARCHAR'],
    ['VARCHAR[]', 'VARCHAR'],
    ['UBIGINT', 'VARCHAR'],
  ])('%s is kept as %s', (type, plain) => {
    expect(plainType(type)).toBe(plain);
  });
});

/** The content of rows `(label, value)` with the value in a column of a type; null: the table has no such column. */
async function contentOf(rows: readonly string[], type: string | null): Promise<string> {
  const columns = [
    { name: 'label', type: 'VARCHAR', comment: null },
    ...(type === null ? [] : [{ name: 'value', type, comment: null }]),
  ];
  const source = `(select cast(label as VARCHAR) as label${type === null ? '' : `, cast(value as ${type}) as value`}
    from (values ${rows.join(', ')}) as t(label, value))`;
  const table: LakeTable = { ...undivided, name: 'facts', columns, source };
  const { write } = await withDatabase(':memory:', 'READ_WRITE', async (database) =>
    new Contents(database).plan(table, null, []),
  );
  return write[0]?.content ?? '';
}

test('of two files with the rows of one block, the first stays and the other is surplus', async () => {
  const columns = [{ name: 'label', type: 'VARCHAR', comment: null }];
  const source = "(from (values ('de')) as t(label))";
  const table: LakeTable = { ...undivided, name: 'facts', columns, source };
  const content = await contentOf(["('de', null)"], null);
  const files = ['one', 'other'].map((file) => ({ name: '', content, stamp: '', file }));
  const { write, keep } = await withDatabase(':memory:', 'READ_WRITE', async (database) =>
    new Contents(database).plan(table, null, files),
  );
  expect(write).toEqual([]);
  expect(keep.map(({ file }) => file)).toEqual(['one']);
});

test.each([
  ['BIGINT', '0'],
  ['DOUBLE', '0'],
  ['DECIMAL(18,6)', '0'],
  ['BOOLEAN', 'false'],
  ['VARCHAR', "''"],
  ['DATE', "'1970-01-01'"],
  ['TIMESTAMP', "'1970-01-01 00:00:00'"],
])('of %s, %s is another content than NULL', async (type, value) => {
  expect(await contentOf([`('de', ${value})`], type)).not.toBe(
    await contentOf(["('de', null)"], type),
  );
});

test('a table without a column has the content of one with NULLs alone', async () => {
  const rows = ["('de', null)", "('us', null)"];
  expect(await contentOf(rows, null)).toBe(await contentOf(rows, 'BIGINT'));
});

test('rows count in any order, with copies, and values not where they change places', async () => {
  const content = await contentOf(["('de', 1)", "('us', 2)"], 'BIGINT');
  expect(await contentOf(["('us', 2)", "('de', 1)"], 'BIGINT')).toBe(content);
  expect(await contentOf(["('us', 2)", "('de', 1)", "('de', 1)"], 'BIGINT')).not.toBe(content);
  expect(await contentOf(["('us', 1)", "('de', 2)"], 'BIGINT')).not.toBe(content);
});

const PROTOCOL = `{'minReaderVersion': 1, 'minWriterVersion': 2}`;
const METADATA = `{'id': 'a', 'format': {'provider': 'parquet'}, 'schemaString': '{}', 'partitionColumns': []::varchar[], 'configuration': map {'a': 'b'}}`;

test('a checkpoint that is no Parquet file is a damaged log, that alone; one that memory is too short for is not', async () => {
  const path = await mkdtemp(join(tmpdir(), 'ripen-log-'));
  const file = join(path, 'facts', checkpointPath(10));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'not a Parquet file');
  const sound = join(path, 'whole', checkpointPath(10));
  await mkdir(dirname(sound), { recursive: true });
  const failed = new Failure('ENGINE_MEMORY', 'The database ran out of memory');
  const failing = { rows: () => Promise.reject(failed), run: () => Promise.resolve(0) };
  await withStore({ path, mode: 0o644 }, null, new AbortController().signal, async (store) => {
    const { listed, read } = await withDatabase(':memory:', 'READ_WRITE', async (database) => {
      await database.run(
        `copy (select ${PROTOCOL} as protocol, ${METADATA} as "metaData") to '${sound}'`,
      );
      const tables = await listTables(store);
      return { listed: tables, read: await readTables(store, database, tables) };
    });
    expect(read.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toMatchObject([
      { name: 'facts', table: null, damage: { code: 'STORAGE_FAILED' } },
      { name: 'whole', version: 10, table: { metaData: { id: 'a' } }, damage: null },
    ]);
    await expect(readTables(store, failing, listed)).rejects.toBe(failed);
  });
  await rm(path, { recursive: true });
});
