/** Describes a table of the warehouse as a Delta table: its metadata, how its files are written and their statistics. Pure. */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { parseColumnType } from '../../model/column-type.ts';
import { identifier } from '../../warehouse/sql.ts';
import { fileColumns, shownColumns, type LakeColumn, type LakeTable } from '../lake-table.ts';
import { castCell, type PeriodContent } from '../plan.ts';
import type { CopyRow } from '../store.ts';
import type { PublishContext } from './commit.ts';
import { OWNER, protocolFor, type Add, type MetaData, type Protocol } from './log.ts';

/** The property that states the slice whose rows a table holds. */
const SLICE = 'ripen.slice';
/** Name and type of every column, the type empty for a former one; the position, from 1, is the column's number in files. */
const COLUMNS = 'ripen.columns';
const MODE = 'delta.columnMapping.mode';

/** The hour is in the slice's own UTC offset; every other TIMESTAMP of the warehouse is an instant in UTC. */
export const isInstant = ({ name, type }: LakeColumn): boolean =>
  type === 'TIMESTAMP' && name !== 'hour';

/** The protocol's name for a plain type; DECIMAL keeps its digits. */
function deltaType(column: LakeColumn): string {
  if (column.type === 'TIMESTAMP') return isInstant(column) ? 'timestamp' : 'timestamp_ntz';
  if (column.type === 'BIGINT') return 'long';
  return column.type === 'VARCHAR' ? 'string' : column.type.toLowerCase();
}

/** A table of the warehouse in its form as a Delta table. */
export interface DeltaForm {
  readonly table: LakeTable;
  readonly metaData: MetaData;
  readonly protocol: Protocol;
  /** Whether earlier files have each column either as this form has it or not at all. */
  readonly isAlike: boolean;
  readonly nameInFiles: (name: string) => string;
  /** The table as its files have it: under those column names, and instants with their zone. */
  readonly inFiles: LakeTable;
  /** DuckDB's options to write the files: the numbers of the columns. */
  readonly options: string;
}

/** The form of a table as a Delta table, from its earlier metadata, which stays equal if nothing changed. */
export function formOf(
  table: LakeTable,
  before: MetaData | null,
  { target, owner, nowMs }: PublishContext,
): DeltaForm {
  const shown = shownColumns(table);
  const known = new Map(before === null ? [] : columnsIn(before));
  const types = new Map([
    ...[...known.keys()].map((name) => [name, ''] as const),
    ...shown.map((column) => [column.name, deltaType(column)] as const),
  ]);
  const numbers = new Map([...types.keys()].map((name, place) => [name, place + 1]));
  const numberOf = (name: string): number => numbers.get(name) ?? 0;
  // Engines cannot undo the mapping of names.
  const isRefused = table.columns.some(({ name }) => REFUSED_IN_NAMES.test(name));
  const isMapped =
    before?.configuration[MODE] === 'name' || (target.columnMapping === true && isRefused);
  // Only names that engines refuse differ in the files, so that all others stay the same once names are mapped.
  const nameInFiles = (name: string): string =>
    isMapped && REFUSED_IN_NAMES.test(name) ? `ripen-col-${numberOf(name)}` : name;
  const mapping = (name: string): object => ({
    'delta.columnMapping.id': numberOf(name),
    'delta.columnMapping.physicalName': nameInFiles(name),
  });
  const schemaFields = shown.map((column) => ({
    name: column.name,
    type: deltaType(column),
    nullable: true,
    metadata: {
      ...(column.comment === null ? {} : { comment: column.comment }),
      ...(isMapped ? mapping(column.name) : {}),
    },
  }));
  const kept = `interval ${Math.ceil(target.keepMs / 1000)} seconds`;
  const columns = table.columns.map((column) => ({
    ...column,
    name: nameInFiles(column.name),
    type: isInstant(column) ? 'TIMESTAMPTZ' : column.type,
  }));
  const cells = table.columns.map((column) => {
    const cell = isInstant(column)
      ? `timezone('UTC', ${castCell(column)})`
      : identifier(column.name);
    return `${cell} as ${identifier(nameInFiles(column.name))}`;
  });
  const ids = table.columns
    .filter(({ name }) => name !== table.key)
    .map(({ name }) => `${identifier(nameInFiles(name))}: ${numberOf(name)}`);
  return {
    table,
    metaData: {
      id: before?.id ?? randomUUID(),
      name: table.name,
      description: table.comment,
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify({ type: 'struct', fields: schemaFields }),
      partitionColumns: table.key === null ? [] : [table.key],
      createdTime: before?.createdTime ?? nowMs,
      configuration: {
        ...before?.configuration,
        'delta.deletedFileRetentionDuration': kept,
        'delta.logRetentionDuration': kept,
        ...(isMapped
          ? { [MODE]: 'name', 'delta.columnMapping.maxColumnId': String(types.size) }
          : {}),
        [OWNER]: owner,
        [COLUMNS]: JSON.stringify([...types]),
        ...(table.slice === null ? {} : { [SLICE]: table.slice }),
      },
    },
    isAlike:
      (before?.configuration[MODE] === 'name') === isMapped &&
      known.size > 0 &&
      shown.every(({ name }) => !known.has(name) || known.get(name) === types.get(name)),
    protocol: protocolFor({
      hasLocalTimes: schemaFields.some(({ type }) => type === 'timestamp_ntz'),
      isMapped,
    }),
    nameInFiles,
    inFiles: {
      ...table,
      columns,
      rows: (condition) => `(select ${cells.join(', ')} from ${table.rows(condition)})`,
    },
    options: `, field_ids {${ids.join(', ')}}`,
  };
}

/** Name and type of the columns that a table states, by their numbers. Throws zod's error if the list is invalid. */
export function columnsIn({ configuration }: MetaData): [name: string, type: string][] {
  return z
    .array(z.tuple([z.string(), z.string()]))
    .parse(JSON.parse(configuration[COLUMNS] ?? '[]'));
}

const tags = z.object({ 'ripen.content': z.string(), 'ripen.stamp': z.string() });

/** The tags of a file, by which the next publish need not read its rows; they survive a checkpoint. */
export function tagsOf({ content, stamp }: PeriodContent): z.infer<typeof tags> {
  return { 'ripen.content': content, 'ripen.stamp': stamp };
}

/** What a file states of its rows; null if another program wrote it. */
export function contentIn(add: Add): PeriodContent | null {
  const found = tags.safeParse(add.tags).data;
  return found === undefined
    ? null
    : { content: found['ripen.content'], stamp: found['ripen.stamp'] };
}

/** The statistics of a file as JSON: all digits of every number, and only exact bounds. */
export function fileStatistics(
  table: LakeTable,
  { count, column_statistics: found }: CopyRow,
): string {
  const byKey = new Map(
    found.map(({ key, value }) => [key, new Map(value.map((each) => [each.key, each.value]))]),
  );
  const columns = fileColumns(table).map((column) => ({
    column,
    stated: byKey.get(identifier(column.name)) ?? byKey.get(column.name),
    name: JSON.stringify(column.name),
  }));
  const bounds = (which: 'min' | 'max'): string =>
    columns
      .flatMap(({ column, stated, name }) => {
        const bound =
          stated?.get('has_nan') === 'true' ? null : boundOf(column, stated?.get(which));
        return bound === null ? [] : [`${name}:${bound}`];
      })
      .join(',');
  const nulls = columns
    .map(({ stated, name }) => `${name}:${stated?.get('null_count') ?? count}`)
    .join(',');
  return `{"numRecords":${count},"minValues":{${bounds('min')}},"maxValues":{${bounds('max')}},"nullCount":{${nulls}}}`;
}

/** DuckDB may have cut a longer text. */
const MAX_BOUND_BYTES = 64;

/** A bound as JSON; null if unknown, as for a BOOLEAN, or for a TIMESTAMP: its period says more than milliseconds would. */
function boundOf({ type }: LakeColumn, bound: string | undefined): string | null {
  if (bound === undefined) return null;
  if (type === 'VARCHAR')
    return Buffer.byteLength(bound) <= MAX_BOUND_BYTES ? JSON.stringify(bound) : null;
  if (type === 'DATE') return /^\d{4}-\d\d-\d\d$/.test(bound) ? JSON.stringify(bound) : null;
  const isNumber = parseColumnType(type) !== null || type === 'INTEGER';
  return isNumber && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(bound) ? bound : null;
}

/** Characters that some engines refuse in names of Parquet columns. */
const REFUSED_IN_NAMES = /[ ,;{}()\n\t=]/;

/** A message that some engines cannot read tables because of column names; null if all can. */
export function unreadableNames(
  target: string,
  tables: readonly { readonly name: string; readonly columns: readonly string[] }[],
): string | null {
  const found = tables.flatMap(({ name, columns }) => {
    const [first, ...others] = columns.filter((column) => REFUSED_IN_NAMES.test(column));
    return first === undefined
      ? []
      : [`${name} (${first}${others.length === 0 ? '' : ` and ${others.length} more`})`];
  });
  if (found.length === 0) return null;
  return `Spark, Databricks and Fabric cannot read Delta tables in ${target} for blanks or any of ,;{}()= in names of columns: ${found.join(', ')}. Other engines can; column_mapping: true on the target maps them.`;
}
