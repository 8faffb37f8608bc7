/**
 * A reader of Delta tables on disk, of its own: the log is added up after the protocol, the files are read by DuckDB.
 * It shares nothing with the writer, and refuses whatever a strict engine refuses.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

import { ask } from './sample-warehouse.ts';

type Row = Record<string, unknown>;

const values = z.record(z.string(), z.string().nullable());
const line = z.object({
  add: z
    .object({
      path: z.string(),
      partitionValues: values,
      size: z.number(),
      modificationTime: z.number(),
      stats: z.string(),
      tags: values.nullish(),
    })
    .nullish(),
  remove: z.object({ path: z.string() }).nullish(),
  metaData: z
    .object({
      schemaString: z.string(),
      partitionColumns: z.array(z.string()),
      configuration: values,
      format: z.object({ provider: z.literal('parquet') }),
    })
    .nullish(),
  protocol: z
    .object({
      minReaderVersion: z.number(),
      minWriterVersion: z.number(),
      readerFeatures: z.array(z.string()).nullish(),
      writerFeatures: z.array(z.string()).nullish(),
    })
    .nullish(),
});
type Line = z.infer<typeof line>;
const schema = z.object({
  fields: z.array(
    z.object({ name: z.string(), type: z.string(), metadata: z.record(z.string(), z.unknown()) }),
  ),
});

/** The versions there are, rising. */
export function versionsOf(table: string): number[] {
  const names = existsSync(join(table, '_delta_log')) ? readdirSync(join(table, '_delta_log')) : [];
  return names
    .flatMap((name) => (/^\d{20}\.json$/.test(name) ? [Number(name.slice(0, 20))] : []))
    .sort((a, b) => a - b);
}

/** A table at a version, the newest by default; throws where an engine would. */
export async function readLog(table: string, requested?: number) {
  const names = readdirSync(join(table, '_delta_log'));
  const numbered = (pattern: RegExp): number[] =>
    names
      .flatMap((name) => (pattern.test(name) ? [Number(name.slice(0, 20))] : []))
      .sort((a, b) => a - b);
  const commits = numbered(/^\d{20}\.json$/);
  const checkpoints = numbered(/^\d{20}\.checkpoint\.parquet$/);
  const version = requested ?? Math.max(commits.at(-1) ?? -1, checkpoints.at(-1) ?? -1);
  const checkpoint = checkpoints.findLast((each) => each <= version) ?? -1;
  const lines: Line[] = [];
  const at = (number: number): string =>
    join(table, '_delta_log', String(number).padStart(20, '0'));
  if (checkpoint >= 0) {
    const found = await ask(
      ':memory:',
      `select to_json(c)::varchar as line from read_parquet('${at(checkpoint).replaceAll("'", "''")}.checkpoint.parquet') as c`,
    );
    lines.push(...found.map((row) => line.parse(JSON.parse(String(row['line'])))));
  }
  for (let next = checkpoint + 1; next <= version; next += 1) {
    const text = readFileSync(`${at(next)}.json`, 'utf8');
    lines.push(
      ...text
        .trimEnd()
        .split('\n')
        .map((each) => line.parse(JSON.parse(each))),
    );
  }
  const files = new Map<string, NonNullable<Line['add']>>();
  let metaData: Line['metaData'];
  let protocol: Line['protocol'];
  for (const each of lines) {
    if (each.remove) files.delete(each.remove.path);
    if (each.add) files.set(each.add.path, each.add);
    metaData = each.metaData ?? metaData;
    protocol = each.protocol ?? protocol;
  }
  if (!metaData || !protocol) throw new Error(`${table} has no metadata at version ${version}`);
  const { fields } = schema.parse(JSON.parse(metaData.schemaString));
  const { partitionColumns, configuration } = metaData;
  if (fields.some(({ type }) => type === 'timestamp_ntz') && protocol.minReaderVersion < 3)
    throw new Error('timestamp_ntz');
  if (configuration['delta.columnMapping.mode'] === 'name') {
    const ids = fields.map(({ metadata }) =>
      z.number().positive().parse(metadata['delta.columnMapping.id']),
    );
    const isListed =
      protocol.minReaderVersion < 3 || protocol.readerFeatures?.includes('columnMapping') === true;
    if (protocol.minReaderVersion < 2 || protocol.minWriterVersion < 5 || !isListed)
      throw new Error('column mapping');
    if (
      new Set(ids).size < ids.length ||
      Math.max(...ids) > Number(configuration['delta.columnMapping.maxColumnId'])
    )
      throw new Error('column mapping ids');
  }
  return { version, files: [...files.values()], fields, partitionColumns, configuration, protocol };
}

const sqlTypes: Readonly<Record<string, string>> = {
  long: 'BIGINT',
  integer: 'INTEGER',
  short: 'SMALLINT',
  byte: 'TINYINT',
  string: 'VARCHAR',
  timestamp_ntz: 'TIMESTAMP',
  timestamp: 'TIMESTAMPTZ',
};

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** What stands after `from` to read a table at a version: every file by itself, absent columns NULL. */
export async function deltaRows(table: string, requested?: number): Promise<string> {
  const { files, fields, partitionColumns, configuration } = await readLog(table, requested);
  const isMapped = configuration['delta.columnMapping.mode'] === 'name';
  const physical = new Map(
    fields.map(({ name, metadata }) => [
      name,
      isMapped ? z.string().parse(metadata['delta.columnMapping.physicalName']) : name,
    ]),
  );
  const parts: string[] = [];
  const fileOf = (path: string): string =>
    text(join(table, decodeURIComponent(path)).replaceAll(/[*?[]/g, '[$&]'));
  const list = files.map(({ path }) => fileOf(path)).join(', ');
  const columns =
    files.length === 0
      ? []
      : await ask(
          ':memory:',
          `select file_name, name from parquet_schema([${list}]) where num_children is null`,
        );
  const inFile = new Map<unknown, Set<unknown>>();
  for (const { file_name: name, name: column } of columns)
    inFile.set(name, (inFile.get(name) ?? new Set()).add(column));
  for (const { path, partitionValues } of files) {
    const file = fileOf(path);
    const held = inFile.get(join(table, decodeURIComponent(path))) ?? new Set();
    const cells = fields.map(({ name, type }) => {
      const sql = sqlTypes[type] ?? type;
      if (partitionColumns.includes(name))
        return `cast(${text(partitionValues[name] ?? '')} as ${sql}) as ${quoted(name)}`;
      const stored = physical.get(name) ?? name;
      if (!held.has(stored)) return `cast(null as ${sql}) as ${quoted(name)}`;
      return type === 'timestamp'
        ? `timezone('UTC', ${quoted(stored)}) as ${quoted(name)}`
        : `${quoted(stored)} as ${quoted(name)}`;
    });
    parts.push(`select ${cells.join(', ')} from read_parquet(${file}, hive_partitioning = false)`);
  }
  const nothing = `select ${fields.map(({ name, type }) => `cast(null as ${type === 'timestamp' ? 'TIMESTAMP' : (sqlTypes[type] ?? type)}) as ${quoted(name)}`).join(', ')} where false`;
  return `(${[nothing, ...parts].join('\nunion all\n')})`;
}

/** Runs the statements for DuckDB as they are printed, over this reader of the versions they name, and asks these queries. */
export async function answersOf(ddl: string, queries: readonly string[]): Promise<Row[][]> {
  const instance = await DuckDBInstance.create(':memory:');
  onTestFinished(() => instance.closeSync());
  const connection = await instance.connect();
  for (const statement of ddl
    .split(/;$/m)
    .filter((each) => !/^\s*(install|load) delta/m.test(each))) {
    const scan = /delta_scan\('([^']+)', version => (\d+)\)/.exec(statement);
    const rows = scan === null ? '' : await deltaRows(scan[1] ?? '', Number(scan[2]));
    if (statement.trim() !== '')
      await connection.run(scan === null ? statement : statement.replace(scan[0], () => rows));
  }
  const found: Row[][] = [];
  for (const sql of queries) found.push((await connection.runAndReadAll(sql)).getRowObjectsJson());
  return found;
}

/** Every row of a table at a version, in an order that depends on the rows alone. */
export async function readDelta(table: string, requested?: number): Promise<Row[]> {
  return sortedRows(await ask(':memory:', `select * from ${await deltaRows(table, requested)}`));
}

/** Rows as JSON, sorted. */
export function sortedRows(rows: readonly Row[]): Row[] {
  const keyed = rows.map((row) => {
    const cells = Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1));
    return JSON.stringify(Object.fromEntries(cells));
  });
  return keyed.sort().map((row) => z.record(z.string(), z.unknown()).parse(JSON.parse(row)));
}
