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

export function schemaString(table: LakeTable): string {
  const fields = shownColumns(table).map((column) => ({
    name: column.name,
    type: deltaType(column),
    nullable: true,
    metadata: column.comment === null ? {} : { comment: column.comment },
  }));
  return JSON.stringify({ type: 'struct', fields });
}

/** The slice whose rows it holds. */
export const SLICE = 'ripen.slice';
/** The names of all columns there are or were: the place of a name, from 1, is the number that files hold of its column. */
const FIELDS = 'ripen.fields';

/** What a publish makes of a table besides its rows. */
export interface NightStamp {
  readonly owner: string;
  readonly keepMs: number;
  readonly nowMs: number;
}

/** The numbers of columns that a table states, by name. Throws zod's error for what is no list of names. */
export function fieldIdsIn({ configuration }: MetaData): ReadonlyMap<string, number> {
  const names = z.array(z.string()).parse(JSON.parse(configuration[FIELDS] ?? '[]'));
  return new Map(names.map((name, place) => [name, place + 1]));
}

/** What a table is to say of itself, from what it said before; equal to that when nothing is new. */
export function metaDataFor(table: LakeTable, before: MetaData | null, { owner, keepMs, nowMs }: NightStamp): MetaData {
  const kept = `interval ${Math.ceil(keepMs / 1000)} seconds`;
  const known = before === null ? [] : fieldIdsIn(before).keys();
  const fields = new Set([...known, ...table.columns.map(({ name }) => name)]);
  return {
    id: before?.id ?? randomUUID(),
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
      [FIELDS]: JSON.stringify([...fields]),
      ...(table.slice === null ? {} : { [SLICE]: table.slice }),
    },
  };
}

const zonedCell = (column: LakeColumn): string =>
  isInstant(column) ? `timezone('UTC', ${castCell(column)})` : castCell(column);

/** Writes a period's rows as one Parquet file with numbered columns; returns what `fileStatistics` reads. */
export function copyNumbered(table: LakeTable, period: Day | null, path: string, metaData: MetaData): string {
  const numberOf = fieldIdsIn(metaData);
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
export const UNREADABLE_HINT = 'Name those columns otherwise in the slice, or read them from the snapshot.';
