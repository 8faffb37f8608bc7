/** A table of the warehouse as a Delta table: its schema, its protocol, what makes a file's name, values and bounds; the views over its files, and whose it is. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';

import * as z from 'zod';

import type { Day } from '../../model/calendar.ts';
import { parseColumnType } from '../../model/column-type.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import {
  byPeriod,
  catalogView,
  dateInPath,
  fileText,
  finalView,
  insidePeriod,
  pathColumn,
  sumsOf,
} from '../lake-sql.ts';
import { FINALITY, type LakeColumn, type LakeTable } from '../lake-table.ts';
import { type Add, commitPath, jsonIn, logFiles, type MetaData, schema, type Table, understood } from './log.ts';
import { readCommit, type DeltaStore } from './delta-store.ts';

/** The names of the protocol for plain types; DECIMAL keeps its digits. */
const deltaTypes: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'byte',
  SMALLINT: 'short',
  INTEGER: 'integer',
  BIGINT: 'long',
  FLOAT: 'float',
  DOUBLE: 'double',
  DATE: 'date',
  VARCHAR: 'string',
};

/** The hour is in the slice's own offset; every other TIMESTAMP of the warehouse is an instant, in UTC. */
const isInstant = ({ name, type }: LakeColumn): boolean => type === 'TIMESTAMP' && name !== 'hour';
const isLocalTime = ({ name, type }: LakeColumn): boolean => type === 'TIMESTAMP' && name === 'hour';

/** Whether the table takes the feature for TIMESTAMP without a zone. */
export const hasLocalTimes = ({ columns }: LakeTable): boolean => columns.some(isLocalTime);

function deltaType(column: LakeColumn): string {
  if (isInstant(column)) return 'timestamp';
  if (isLocalTime(column)) return 'timestamp_ntz';
  return deltaTypes[column.type] ?? column.type.toLowerCase();
}

/** The columns as readers see them: the table's own, and the day that hours are filed under. */
function shownColumns({ columns, key }: LakeTable): readonly LakeColumn[] {
  if (key === null || columns.some(({ name }) => name === key)) return columns;
  return [...columns, { name: key, type: 'DATE', comment: `The ${key} the rows are filed under.` }];
}

/** The type of every column of a schema, by name. */
export function typesIn(schemaString: string): ReadonlyMap<string, string> {
  const parsed = schema.parse(JSON.parse(schemaString));
  return new Map(parsed.fields.map(({ name, type }) => [name, typeof type === 'string' ? type : JSON.stringify(type)]));
}

export function schemaString(table: LakeTable): string {
  const listed = shownColumns(table).map((column) => ({
    name: column.name,
    type: deltaType(column),
    nullable: true,
    metadata: column.comment === null ? {} : { comment: column.comment },
  }));
  return JSON.stringify({ type: 'struct', fields: listed });
}

/** Properties that say whose the table is. */
export const OWNER = 'ripen.warehouse';
/** The first version there is: a table that joins later has none of the nights before. */
const BEGINS = 'ripen.begins_at_version';
/** The slice whose rows it holds. */
export const SLICE = 'ripen.slice';
/** Of `ripen_finality`: every table there is or was, and since when it is away. */
export const TABLES = 'ripen.tables';

/** What a publish makes of a table besides its rows. */
export interface Publishing {
  readonly version: number;
  readonly owner: string;
  readonly keepMs: number;
  readonly nowMs: number;
  /** Every table, and since when it is away. */
  readonly listed: ReadonlyMap<string, number>;
}

/** What a table is to say of itself, from what it said before; equal to that when nothing is new. */
export function metaDataFor(
  table: LakeTable,
  before: MetaData | null,
  { version, owner, keepMs, nowMs, listed }: Publishing,
): MetaData {
  const kept = `interval ${Math.ceil(keepMs / 1000)} seconds`;
  const begins = before?.configuration[BEGINS] ?? String(version);
  const hash = createHash('sha256').update(`${owner}/${table.name}/${nowMs}`).digest('hex');
  return {
    id: before?.id ?? hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    name: table.name,
    description: table.comment,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table),
    partitionColumns: table.key === null ? [] : [table.key],
    createdTime: before?.createdTime ?? nowMs,
    configuration: {
      ...before?.configuration,
      'delta.deletedFileRetentionDuration': kept,
      'delta.logRetentionDuration': kept,
      [OWNER]: owner,
      [BEGINS]: begins,
      ...(table.slice === null ? {} : { [SLICE]: table.slice }),
      ...(table.name === FINALITY ? { [TABLES]: JSON.stringify(Object.fromEntries(listed)) } : {}),
    },
  };
}

/** A number of a column that its name alone gives, so that every file of the table has the same. */
function fieldId(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) >>> 1;
}

/** A column as a file holds it. */
function written({ name, type }: LakeColumn): string {
  const value = `cast(${identifier(name)} as ${type})`;
  const isZoned = isInstant({ name, type, comment: null });
  return `${isZoned ? `timezone('UTC', ${value})` : value} as ${identifier(name)}`;
}

const inFile = ({ columns, key }: LakeTable): readonly LakeColumn[] => columns.filter(({ name }) => name !== key);

/** Writes a period's rows as one Parquet file; returns what `fileStatistics` reads. */
export function copyFile(table: LakeTable, period: Day | null, path: string): string {
  const columns = inFile(table);
  const ids = columns.map(({ name }) => `${identifier(name)}: ${fieldId(name)}`).join(', ');
  return `copy (
select
    ${columns.map(written).join(',\n    ')}
from ${table.source}
where ${insidePeriod(table, period)}
) to ${literal(path)} (format parquet, compression zstd, return_stats, field_ids {${ids}})`;
}

/**
 * Per period: the sums in the order of `summed`, and a content that is equal exactly when the rows are, in any order,
 * copies counted. A NULL alone adds nothing to it: a file without a column is as good as one with NULLs alone. DuckDB's hash
 * of a zero is zero.
 */
export function summarizeContent(table: LakeTable, periods: readonly (Day | null)[]): string {
  const cells = table.columns.map(({ name, type }) => {
    const cell = identifier(name);
    return `case when ${cell} is null then 0::hugeint else (hash(cast(${cell} as ${type}))::hugeint + 1) * ${fieldId(name) | 1} end`;
  });
  const sums = sumsOf(table).join(', ');
  const measures = `count(*)::varchar as rows,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${sums}]::varchar[] as sums
from ${table.source}`;
  return table.grain === null
    ? `select\n    null::varchar as period,\n    ${measures}\nhaving count(*) > 0`
    : byPeriod(table, measures, periods);
}

/** What DuckDB says of a file it wrote. */
export const copyRow = z.object({
  count: z.coerce.number(),
  file_size_bytes: z.coerce.number(),
  column_statistics: z.array(
    z.object({ key: z.string(), value: z.array(z.object({ key: z.string(), value: z.string() })) }),
  ),
});

/** The statistics of a file as JSON: every number with all its digits, every bound one indeed. */
export function fileStatistics(table: LakeTable, { count, column_statistics: found }: z.infer<typeof copyRow>): string {
  const byKey = new Map(found.map(({ key, value }) => [key, new Map(value.map((each) => [each.key, each.value]))]));
  const columns = inFile(table).map((column) => {
    const said = byKey.get(`"${column.name.replaceAll('"', '""')}"`) ?? byKey.get(column.name);
    return { column, said, name: JSON.stringify(column.name) };
  });
  const bounds = (which: 'min' | 'max'): string =>
    columns
      .flatMap(({ column, said, name }) => {
        const bound = said?.get('has_nan') === 'true' ? null : boundOf(column, said?.get(which));
        return bound === null ? [] : [`${name}:${bound}`];
      })
      .join(',');
  const nulls = columns.map(({ said, name }) => `${name}:${said?.get('null_count') ?? count}`).join(',');
  return `{"numRecords":${count},"minValues":{${bounds('min')}},"maxValues":{${bounds('max')}},"nullCount":{${nulls}}}`;
}

/**
 * A bound as JSON; null where none is stated: a period says more of a time than milliseconds do, a BOOLEAN has none, and
 * a long text may have been cut.
 */
function boundOf({ type }: LakeColumn, bound: string | undefined): string | null {
  if (bound === undefined) return null;
  if (type === 'VARCHAR') return Buffer.byteLength(bound) <= MOST_BOUND_BYTES ? JSON.stringify(bound) : null;
  if (type === 'DATE') return /^\d{4}-\d\d-\d\d$/.test(bound) ? JSON.stringify(bound) : null;
  const isNumber = parseColumnType(type) !== null || /INT|FLOAT/.test(type);
  return isNumber && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(bound) ? bound : null;
}

const MOST_BOUND_BYTES = 64;

const counted = z.object({ numRecords: z.number(), nullCount: z.record(z.string(), z.number()) });

/** The columns a file holds, from its statistics; null where they do not say. */
export function heldColumns(stats: string | null | undefined): ReadonlySet<string> | null {
  const parsed = counted.safeParse(jsonIn(stats ?? ''));
  if (!parsed.success) return null;
  const { nullCount } = parsed.data;
  return new Set(Object.keys(nullCount));
}

/** Files publishing wrote; only those number their columns by `fieldId`. */
const OWN_NAME = /(^|\/)ripen-[^/]*\.parquet$/;

/** The reading of files with and without each column: an absent one is NULL; of ripen's own none is opened to find out. */
function readFiles(table: LakeTable, files: readonly string[]): string {
  const listed = (chosen: readonly string[]): string => `[${chosen.map(fileText).join(', ')}]`;
  const path = literal(pathColumn(table));
  const columns = inFile(table).map((column) => ({
    name: column.name,
    type: isInstant(column) ? 'TIMESTAMPTZ' : column.type,
  }));
  const numbered = columns.map(
    ({ name, type }) => `${fieldId(name)}: {name: ${literal(name)}, type: ${literal(type)}, default_value: null}`,
  );
  const own = files.filter((file) => OWN_NAME.test(file));
  const others = files.filter((file) => !OWN_NAME.test(file));
  const read = `read_parquet(${listed(own)}, schema = map {${numbered.join(', ')}}, filename = ${path})`;
  if (others.length === 0) return read;
  const typed = columns.map(({ name, type }) => `cast(null as ${type}) as ${identifier(name)}`).join(', ');
  const first = own.length === 0 ? `select ${typed} where false` : `from ${read}`;
  return `(${first} union all by name
    from read_parquet(${listed(others)}, union_by_name = true, hive_partitioning = false, filename = ${path}))`;
}

/**
 * What stands after `from` to read a file that another engine wrote as the table's rows; null for one whose place and
 * statistics do not say all that a later publish has to know of it.
 */
export function readOther(table: LakeTable, { path, partitionValues, stats }: Add, file: string): string | null {
  const { key, columns } = table;
  const held = heldColumns(stats);
  const value = key === null ? null : (partitionValues[key] ?? '');
  const isInPlace = key === null || decodeURIComponent(path).split('/').at(-2) === `${key}=${value ?? ''}`;
  if (!isInPlace || columns.some(isInstant) || !inFile(table).every(({ name }) => held?.has(name) === true))
    return null;
  const cells = columns.map(({ name, type }) =>
    name === key ? `cast(${literal(value ?? '')} as ${type}) as ${identifier(name)}` : identifier(name),
  );
  return `(select ${cells.join(', ')} from ${readFiles(table, [file])})`;
}

/** The statements of a catalog over tables below a root. */
export function deltaCatalog(
  root: string,
  tables: readonly { readonly table: LakeTable; readonly now: Table }[],
): string[] {
  const plain = tables.flatMap(({ table, now }) => {
    const files = [...now.files.keys()].map((path) => join(root, table.name, decodeURIComponent(path)));
    return catalogView(table, 'main', files.length === 0 ? null : rowsOf(table, files));
  });
  const final = tables.filter(({ table }) => table.metrics.length > 0).flatMap(({ table }) => finalView(table));
  return [...plain, ...final];
}

function rowsOf(table: LakeTable, files: readonly string[]): string {
  const { columns, key } = table;
  const cell = (column: LakeColumn): string => {
    const name = identifier(column.name);
    if (column.name === key) return `cast(${dateInPath(table)} as ${column.type}) as ${name}`;
    return isInstant(column) ? `timezone('UTC', ${name}) as ${name}` : name;
  };
  return `select\n    ${columns.map(cell).join(',\n    ')}\nfrom ${readFiles(table, files)}`;
}

const commitInfo = z.object({ commitInfo: z.object({ [OWNER]: z.string() }) });

/** The id of the warehouse that committed last to a table; null where none did. */
export async function committedBy(store: DeltaStore, table: string): Promise<string | null> {
  const listed = await store.list(table);
  const paths = [...listed.keys()].map((path) => path.slice(table.length + 1));
  for (const version of logFiles(paths).commits.toReversed()) {
    const bytes = listed.get(`${table}/${commitPath(version)}`)?.bytes ?? null;
    const committer = await committerOf(store, table, version, bytes);
    if (committer !== null) return committer;
  }
  return null;
}

/**
 * The id of the warehouse that committed a version, of so many bytes if they are known; null for another program's commit.
 * Throws `STORAGE_FAILED` for one that cannot be understood.
 */
export async function committerOf(
  store: DeltaStore,
  table: string,
  version: number,
  bytes: number | null,
): Promise<string | null> {
  const path = `${table}/${commitPath(version)}`;
  const [first = ''] = (await readCommit(store, path, bytes)).split('\n');
  const said = understood(`${store.root}/${path}`, (): unknown => JSON.parse(first === '' ? 'null' : first));
  const parsed = commitInfo.safeParse(said);
  return parsed.success ? (parsed.data.commitInfo[OWNER] ?? null) : null;
}
