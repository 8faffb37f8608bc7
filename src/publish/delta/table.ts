/** Describes a table of the warehouse as a Delta table. Pure. */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { parseColumnType } from '../../model/column-type.ts';
import { identifier } from '../../warehouse/sql.ts';
import { fileColumns, shownColumns, type LakeColumn, type LakeTable } from '../lake-table.ts';
import { castCell, type PeriodContent } from '../plan.ts';
import type { CopyRow } from '../store.ts';
import type { PublishContext } from './commit.ts';
import { newerProtocol, OWNER, type Add, type DeltaTable } from './log.ts';
import type { MetaData, Protocol } from './log.ts';

const SLICE = 'ripen.slice';
/** Name and type of every column, the type empty for a former one; the position, from 1, is the column's number in files. */
const COLUMNS = 'ripen.columns';
const MODE = 'delta.columnMapping.mode';

/** The hour is in the slice's own UTC offset; every other TIMESTAMP of the warehouse is an instant in UTC. */
export const isInstant = ({ name, type }: LakeColumn): boolean =>
  type === 'TIMESTAMP' && name !== 'hour';

function deltaType(column: LakeColumn): string {
  if (column.type === 'TIMESTAMP') return isInstant(column) ? 'timestamp' : 'timestamp_ntz';
  if (column.type === 'BIGINT') return 'long';
  return column.type === 'VARCHAR' ? 'string' : column.type.toLowerCase();
}

export interface DeltaForm {
  readonly metaData: MetaData;
  /** Null if the earlier one covers what the table needs. */
  readonly protocol: Protocol | null;
  /** Whether earlier files have each column either as this form has it or not at all. */
  readonly isAlike: boolean;
  /** The table as its files have it: under those column names, and instants with their zone. */
  readonly inFiles: LakeTable;
  /** DuckDB's options to write the files: the numbers of the columns. */
  readonly options: string;
}

/** Returns the form of a table as a Delta table. Its metadata is equal to the earlier one if nothing changed. */
export function formOf(
  table: LakeTable,
  stored: DeltaTable | null,
  { target, owner, nowMs }: PublishContext,
): DeltaForm {
  const before = stored?.metaData ?? null;
  const shown = shownColumns(table);
  const storedTypes = new Map(before === null ? [] : columnsIn(before));
  const types = new Map([...storedTypes.keys()].map((name) => [name, '']));
  for (const column of shown) types.set(column.name, deltaType(column));
  const numbers = new Map([...types.keys()].map((name, place) => [name, place + 1]));
  const numberOf = (name: string): number => numbers.get(name) ?? 0;
  // Engines cannot undo the mapping of names.
  const isRefused = table.columns.some(({ name }) => REFUSED_IN_NAMES.test(name));
  const isMapped =
    before?.configuration[MODE] === 'name' || (target.columnMapping === true && isRefused);
  // Only names that engines refuse differ in the files, so that all others stay the same once names are mapped.
  const nameInFiles = (name: string): string =>
    isMapped && REFUSED_IN_NAMES.test(name) ? `ripen-col-${numberOf(name)}` : name;
  const schemaFields = shown.map((column) => {
    const { name, comment } = column;
    const mapping = {
      'delta.columnMapping.id': numberOf(name),
      'delta.columnMapping.physicalName': nameInFiles(name),
    };
    const metadata = { ...(comment === null ? {} : { comment }), ...(isMapped ? mapping : {}) };
    return { name, type: deltaType(column), nullable: true, metadata };
  });
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
      storedTypes.size > 0 &&
      shown.every(({ name }) => (storedTypes.get(name) ?? types.get(name)) === types.get(name)),
    protocol: newerProtocol(stored?.protocol ?? null, {
      hasLocalTimes: schemaFields.some(({ type }) => type === 'timestamp_ntz'),
      isMapped,
    }),
    inFiles: {
      ...table,
      columns,
      rows: (condition) => `(select ${cells.join(', ')} from ${table.rows(condition)})`,
    },
    options: `, field_ids {${ids.join(', ')}}`,
  };
}

/** Throws zod's error if the list of columns is invalid. */
export function columnsIn({ configuration }: MetaData): [name: string, type: string][] {
  return z
    .array(z.tuple([z.string(), z.string()]))
    .parse(JSON.parse(configuration[COLUMNS] ?? '[]'));
}

const tags = z.object({ 'ripen.content': z.string(), 'ripen.stamp': z.string() });

/** Returns tags by which the next publish need not read the rows of a file. They survive a checkpoint. */
export function tagsOf({ content, stamp }: PeriodContent): z.infer<typeof tags> {
  return { 'ripen.content': content, 'ripen.stamp': stamp };
}

/** Returns null if another program wrote the file. */
export function contentIn(add: Add): PeriodContent | null {
  const { data } = tags.safeParse(add.tags);
  return data === undefined ? null : { content: data['ripen.content'], stamp: data['ripen.stamp'] };
}

/** Returns statistics as JSON: all digits of every number, and only exact bounds. */
export function fileStatistics(
  table: LakeTable,
  { count, column_statistics: columns }: CopyRow,
): string {
  const byColumn = new Map(
    columns.map(({ key, value }) => [key, new Map(value.map((fact) => [fact.key, fact.value]))]),
  );
  const [min, max, nulls]: [string[], string[], string[]] = [[], [], []];
  for (const column of fileColumns(table)) {
    const name = JSON.stringify(column.name);
    const facts = byColumn.get(identifier(column.name)) ?? byColumn.get(column.name);
    nulls.push(`${name}:${facts?.get('null_count') ?? count}`);
    if (facts === undefined || facts.get('has_nan') === 'true') continue;
    const [lower, upper] = [boundOf(column, facts.get('min')), boundOf(column, facts.get('max'))];
    if (lower !== null) min.push(`${name}:${lower}`);
    if (upper !== null) max.push(`${name}:${upper}`);
  }
  return `{"numRecords":${count},"minValues":{${min.join()}},"maxValues":{${max.join()}},"nullCount":{${nulls.join()}}}`;
}

/** DuckDB may have cut a longer text. */
const MAX_BOUND_BYTES = 64;

/** Returns a bound as JSON. For a TIMESTAMP its period says more than milliseconds would. */
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

/** Returns a message for tables that some engines cannot read because of column names. */
export function unreadableNames(target: string, tables: readonly LakeTable[]): string | null {
  const unreadable = tables.flatMap(({ name, columns }) => {
    const [first, ...others] = columns.filter((column) => REFUSED_IN_NAMES.test(column.name));
    if (first === undefined) return [];
    return [`${name} (${first.name}${others.length === 0 ? '' : ` and ${others.length} more`})`];
  });
  if (unreadable.length === 0) return null;
  return `Spark, Databricks and Fabric cannot read Delta tables in ${target} for blanks or any of ,;{}()= in names of columns: ${unreadable.join(', ')}. Other engines can; column_mapping: true on the target maps them.`;
}
