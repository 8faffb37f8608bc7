/** A table of the warehouse as a Delta table: its schema, what it says of itself, how its files are written and what is stated of them. */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import type { Day } from '../../model/calendar.ts';
import { parseColumnType } from '../../model/column-type.ts';
import { identifier } from '../../warehouse/sql.ts';
import { castCell, copyPeriod, fileColumns } from '../lake-sql.ts';
import type { LakeColumn, LakeTable } from '../lake-table.ts';
import type { CopyRow, PeriodContent } from '../plan.ts';
import { OWNER } from './commit.ts';
import { type Add, jsonIn, type MetaData, schema } from './log.ts';

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
export const isInstant = ({ name, type }: LakeColumn): boolean => type === 'TIMESTAMP' && name !== 'hour';
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

/** The schema of a table; with the numbers of its columns, where their names are mapped. */
export function schemaString(table: LakeTable, mapped: ReadonlyMap<string, number> | null): string {
  const fields = shownColumns(table).map((column) => ({
    name: column.name,
    type: deltaType(column),
    nullable: true,
    metadata: {
      ...(column.comment === null ? {} : { comment: column.comment }),
      ...(mapped === null ? {} : mappingOf(column.name, mapped)),
    },
  }));
  return JSON.stringify({ type: 'struct', fields });
}

const ID = 'delta.columnMapping.id';
const PHYSICAL = 'delta.columnMapping.physicalName';
const MODE = 'delta.columnMapping.mode';

const mappingOf = (name: string, numberOf: ReadonlyMap<string, number>) => ({
  [ID]: numberOf.get(name) ?? 0,
  [PHYSICAL]: physicalName(name, numberOf),
});

/** Only a name that engines refuse is another in the files, so that a table's other files and columns stay as they are once its names are mapped. */
const physicalName = (name: string, numberOf: ReadonlyMap<string, number>): string =>
  REFUSED_IN_NAMES.test(name) ? `ripen-col-${numberOf.get(name) ?? 0}` : name;

/** What each column is called in files, by name; empty where names are not mapped. */
export function physicalNames(metaData: MetaData): ReadonlyMap<string, string> {
  const numberOf = fieldIdsIn(metaData);
  const names = isMapped(metaData) ? [...numberOf.keys()] : [];
  return new Map(names.map((name) => [name, physicalName(name, numberOf)]));
}

export const isMapped = ({ configuration }: MetaData): boolean => configuration[MODE] === 'name';

/** Whether another engine mapped names, in a way that files written here would not follow. */
export function isMappedByOthers(metaData: MetaData): boolean {
  const mode = metaData.configuration[MODE] ?? 'none';
  if (mode === 'none') return false;
  const own = physicalNames(metaData);
  const shape = z.object({ name: z.string(), metadata: z.record(z.string(), z.unknown()) });
  const { fields } = z.object({ fields: z.array(shape) }).parse(JSON.parse(metaData.schemaString));
  return mode !== 'name' || fields.some(({ name, metadata }) => metadata[PHYSICAL] !== own.get(name));
}

/** The table under the names its files have. */
export function inFiles(table: LakeTable, metaData: MetaData): LakeTable {
  const names = physicalNames(metaData);
  if (names.size === 0) return table;
  const columns = table.columns.map((column) => ({ ...column, name: names.get(column.name) ?? column.name }));
  const cells = table.columns.map(({ name }) => `${identifier(name)} as ${identifier(names.get(name) ?? name)}`);
  return { ...table, columns, source: `(select ${cells.join(', ')} from ${table.source})` };
}

/** The slice whose rows it holds. */
export const SLICE = 'ripen.slice';
/** The names of all columns there are or were: the place of a name, from 1, is the number that files hold of its column. */
const FIELDS = 'ripen.fields';

/** What a publish makes of a table besides its rows. */
export interface NightStamp {
  readonly owner: string;
  /** Whether names that engines refuse are mapped. */
  readonly maps: boolean;
  readonly keepMs: number;
  readonly nowMs: number;
}

/** The numbers of columns that a table states, by name. Throws zod's error for what is no list of names. */
export function fieldIdsIn({ configuration }: MetaData): ReadonlyMap<string, number> {
  return numbered(z.array(z.string()).parse(JSON.parse(configuration[FIELDS] ?? '[]')));
}

const numbered = (names: readonly string[]): Map<string, number> =>
  new Map(names.map((name, place) => [name, place + 1]));

/** What a table is to say of itself, from what it said before; equal to that when nothing is new. */
export function metaDataFor(
  table: LakeTable,
  before: MetaData | null,
  { owner, maps, keepMs, nowMs }: NightStamp,
): MetaData {
  const kept = `interval ${Math.ceil(keepMs / 1000)} seconds`;
  const known = before === null ? [] : fieldIdsIn(before).keys();
  const fields = new Set([...known, ...shownColumns(table).map(({ name }) => name)]);
  const isNamed = maps && table.columns.some(({ name }) => REFUSED_IN_NAMES.test(name));
  // Engines cannot take it back.
  const mapped = isNamed || (before !== null && isMapped(before)) ? numbered([...fields]) : null;
  return {
    id: before?.id ?? randomUUID(),
    name: table.name,
    description: table.comment,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table, mapped),
    partitionColumns: table.key === null ? [] : [table.key],
    createdTime: before?.createdTime ?? nowMs,
    configuration: {
      ...before?.configuration,
      'delta.deletedFileRetentionDuration': kept,
      'delta.logRetentionDuration': kept,
      ...(mapped === null ? {} : { [MODE]: 'name', 'delta.columnMapping.maxColumnId': String(fields.size) }),
      [OWNER]: owner,
      [FIELDS]: JSON.stringify([...fields]),
      ...(table.slice === null ? {} : { [SLICE]: table.slice }),
    },
  };
}

const zonedCell = (column: LakeColumn): string =>
  isInstant(column) ? `timezone('UTC', ${castCell(column)})` : castCell(column);

/** Writes a period's rows, under the names of files, as one Parquet file with numbered columns; returns what `fileStatistics` reads. */
export function copyNumbered(table: LakeTable, period: Day | null, path: string, metaData: MetaData): string {
  const names = physicalNames(metaData);
  const numberOf = new Map([...fieldIdsIn(metaData)].map(([name, number]) => [names.get(name) ?? name, number]));
  const ids = fileColumns(table).map(({ name }) => `${identifier(name)}: ${numberOf.get(name) ?? 0}`);
  return copyPeriod(table, period, path, { cell: zonedCell, options: `, field_ids {${ids.join(', ')}}` });
}

const tags = z.object({ 'ripen.content': z.string(), 'ripen.stamp': z.string() });

/** What the tags of a file say of it, so that the next publish need not read its rows; they survive a checkpoint. */
export function tagsOf({ content, stamp }: PeriodContent): z.infer<typeof tags> {
  return { 'ripen.content': content, 'ripen.stamp': stamp };
}

/** What a file states of its rows; null for one of another program. */
export function contentIn(add: Add): PeriodContent | null {
  const found = tags.safeParse(add.tags).data;
  const rows = statedOf(add.stats)?.numRecords;
  if (found === undefined || rows === undefined) return null;
  return { rows, content: found['ripen.content'], stamp: found['ripen.stamp'], sums: {} };
}

/** The statistics of a file as JSON: every number with all its digits, and only true bounds. */
export function fileStatistics(table: LakeTable, { count, column_statistics: found }: CopyRow): string {
  const byKey = new Map(found.map(({ key, value }) => [key, new Map(value.map((each) => [each.key, each.value]))]));
  const columns = fileColumns(table).map((column) => ({
    column,
    stated: byKey.get(`"${column.name.replaceAll('"', '""')}"`) ?? byKey.get(column.name),
    name: JSON.stringify(column.name),
  }));
  const bounds = (which: 'min' | 'max'): string =>
    columns
      .flatMap(({ column, stated, name }) => {
        const bound = stated?.get('has_nan') === 'true' ? null : boundOf(column, stated?.get(which));
        return bound === null ? [] : [`${name}:${bound}`];
      })
      .join(',');
  const nulls = columns.map(({ stated, name }) => `${name}:${stated?.get('null_count') ?? count}`).join(',');
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

// Not a record, of which the column __proto__ would be left out.
const counted = z.object({
  numRecords: z.number(),
  nullCount: z.custom<object>((value) => z.object().safeParse(value).success),
});

const statedOf = (stats: Add['stats']) => counted.safeParse(jsonIn(stats ?? '')).data;

/** The columns a file holds, from its statistics; none where they do not say. */
export function heldColumns(stats: Add['stats']): ReadonlySet<string> {
  return new Set(Object.keys(statedOf(stats)?.nullCount ?? {}));
}

/** What some engines refuse in the name of a column of Parquet files. */
const REFUSED_IN_NAMES = /[ ,;{}()\n\t=]/;

/** Says which engines cannot read tables for the names of their columns; null where all can. */
export function unreadableNames(
  target: string,
  tables: readonly { readonly name: string; readonly columns: readonly string[] }[],
): string | null {
  const found = tables.flatMap(({ name, columns }) => {
    const [first, ...others] = columns.filter((column) => REFUSED_IN_NAMES.test(column));
    return first === undefined ? [] : [`${name} (${first}${others.length === 0 ? '' : ` and ${others.length} more`})`];
  });
  if (found.length === 0) return null;
  return `Spark, Databricks and Fabric cannot read Delta tables in ${target} for blanks or any of ,;{}()= in names of columns: ${found.join(', ')}. Other engines can.`;
}
export const UNREADABLE_HINT =
  'Set column_mapping: true on the target, name those columns otherwise, or read them from the snapshot.';
