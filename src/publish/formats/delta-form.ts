/** Describes a table of the warehouse as a Delta table. */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { buckets, type Bucket } from '../../model/calendar.ts';
import { publishedNumber } from '../../model/column-type.ts';
import type { RelationColumn } from '../../warehouse/relations.ts';
import { identifier } from '../../warehouse/sql.ts';
import type { BlockContent } from '../contents.ts';
import { castCell, type LakeTable } from '../tables.ts';
import type { PublishContext } from './delta-commit.ts';
import { MODE, newerProtocol, OWNER, type Add, type DeltaTable } from './delta-log.ts';
import type { MetaData } from './delta-log.ts';

/** Name and type of every column, the type empty for a former one; the position, from 1, is the column's number in files. */
const COLUMNS = 'ripen.columns';
/** The unit of the blocks, each of which is one file. */
const UNIT = 'ripen.unit';

/** Characters that some engines refuse in names of Parquet columns. */
const REFUSED_IN_NAMES = /[ ,;{}()\n\t=]/;

/** The hour is in the slice's own UTC offset; every other TIMESTAMP of the warehouse is an instant in UTC. */
export const isInstant = ({ name, type }: RelationColumn): boolean =>
  type === 'TIMESTAMP' && name !== 'hour';

function deltaType(column: RelationColumn): string {
  if (column.type === 'TIMESTAMP') return isInstant(column) ? 'timestamp' : 'timestamp_ntz';
  if (column.type === 'BIGINT') return 'long';
  return column.type === 'VARCHAR' ? 'string' : column.type.toLowerCase();
}

export function formOf(
  table: LakeTable,
  stored: DeltaTable | null,
  { target, owner, nowMs }: PublishContext,
) {
  const before = stored?.metaData ?? null;
  const storedTypes = new Map(before === null ? [] : columnsIn(before));
  const types = new Map([...storedTypes.keys()].map((name) => [name, '']));
  for (const column of table.columns) types.set(column.name, deltaType(column));
  const numbers = new Map([...types.keys()].map((name, index) => [name, index + 1]));
  // Engines cannot undo the mapping of names.
  const wasMapped = before?.configuration[MODE] === 'name';
  const isRefused = table.columns.some(({ name }) => REFUSED_IN_NAMES.test(name));
  const isMapped = wasMapped || (target.columnMapping === true && isRefused);
  const schemaFields: object[] = [];
  const columns = table.columns.map((column) => {
    const { name, comment } = column;
    const id = numbers.get(name) ?? 0;
    // Only names that engines refuse differ in the files, so that all others stay the same once names are mapped.
    const nameInFiles = isMapped && REFUSED_IN_NAMES.test(name) ? `ripen-col-${id}` : name;
    const mapping = {
      'delta.columnMapping.id': id,
      'delta.columnMapping.physicalName': nameInFiles,
    };
    const metadata = { ...(comment === null ? {} : { comment }), ...(isMapped ? mapping : {}) };
    schemaFields.push({ name, type: deltaType(column), nullable: true, metadata });
    const cell = castCell(column);
    return { name: nameInFiles, id, cell: isInstant(column) ? `timezone('UTC', ${cell})` : cell };
  });
  const ids = columns.map(({ name, id }) => `${identifier(name)}: ${id}`);
  const retention = `interval ${Math.ceil(target.keepMs / 1000)} seconds`;
  const { [UNIT]: storedUnit, ...configuration } = before?.configuration ?? {};
  const hasLocalTimes = [...types.values()].includes('timestamp_ntz');
  return {
    unit: buckets.find((bucket) => bucket === storedUnit) ?? null,
    /** Equal to the stored one if nothing changed. */
    metaDataFor: (unit: Bucket | null): MetaData => ({
      id: before?.id ?? randomUUID(),
      name: table.name,
      description: table.comment,
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify({ type: 'struct', fields: schemaFields }),
      partitionColumns: [],
      createdTime: before?.createdTime ?? nowMs,
      configuration: {
        ...configuration,
        'delta.deletedFileRetentionDuration': retention,
        'delta.logRetentionDuration': retention,
        ...(isMapped ? { [MODE]: 'name', 'delta.columnMapping.maxColumnId': `${types.size}` } : {}),
        [OWNER]: owner,
        [COLUMNS]: JSON.stringify([...types]),
        ...(unit === null ? {} : { [UNIT]: unit }),
      },
    }),
    /** Null if the stored one is enough. */
    protocol: newerProtocol(stored?.protocol ?? null, { hasLocalTimes, isMapped }),
    /** Whether stored files have each column either as this form has it or not at all. */
    isAlike:
      wasMapped === isMapped &&
      storedTypes.size > 0 &&
      table.columns.every(
        ({ name }) => (storedTypes.get(name) ?? types.get(name)) === types.get(name),
      ),
    /** Under the names of the files, and instants with their zone. */
    columns,
    options: `format parquet, compression zstd, return_stats, field_ids {${ids.join(', ')}}`,
  };
}

export function columnsIn({ configuration }: MetaData): [name: string, type: string][] {
  const listed = z.array(z.tuple([z.string(), z.string()]));
  return listed.parse(JSON.parse(configuration[COLUMNS] ?? '[]'));
}

const tags = z.object({
  'ripen.block': z.string(),
  'ripen.content': z.string(),
  'ripen.stamp': z.string(),
});

/** Returns tags by which the next publish need not read the rows of a file. They survive a checkpoint. */
export function tagsOf({ name, content, stamp }: BlockContent & { readonly name: string }) {
  return { 'ripen.block': name, 'ripen.content': content, 'ripen.stamp': stamp };
}

/** Returns the block of a file, or null if another program wrote it. */
export function blockIn(add: Add): (BlockContent & { readonly name: string }) | null {
  const { data } = tags.safeParse(add.tags);
  if (data === undefined) return null;
  const { 'ripen.block': name, 'ripen.content': content, 'ripen.stamp': stamp } = data;
  return { name, content, stamp };
}

const copyRow = z.object({
  count: z.coerce.number(),
  column_statistics: z.array(
    z.object({ key: z.string(), value: z.array(z.object({ key: z.string(), value: z.string() })) }),
  ),
});

/** Returns statistics as JSON: all digits of every number, and only exact bounds. */
export function fileStatistics(
  columns: readonly RelationColumn[],
  namesInFiles: readonly string[],
  copied: unknown,
): string {
  const { count, column_statistics: statistics } = copyRow.parse(copied);
  const byColumn = new Map(
    statistics.map(({ key, value }) => [key, new Map(value.map((fact) => [fact.key, fact.value]))]),
  );
  const [min, max, nulls]: [string[], string[], string[]] = [[], [], []];
  for (const [index, column] of columns.entries()) {
    const nameInFiles = namesInFiles[index] ?? '';
    const name = JSON.stringify(nameInFiles);
    const facts = byColumn.get(identifier(nameInFiles)) ?? byColumn.get(nameInFiles);
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

/**
 * Returns a bound as JSON, or null if it may not be exact. Instants have microseconds, bounds of the protocol only
 * milliseconds.
 */
function boundOf({ name, type }: RelationColumn, bound: string | undefined): string | null {
  if (bound === undefined) return null;
  const quoted = JSON.stringify(bound);
  if (type === 'VARCHAR') return Buffer.byteLength(bound) <= MAX_BOUND_BYTES ? quoted : null;
  if (type === 'DATE') return /^\d{4}-\d\d-\d\d$/.test(bound) ? quoted : null;
  if (name === 'hour' && type === 'TIMESTAMP')
    return /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(bound)
      ? JSON.stringify(`${bound.replace(' ', 'T')}.000`)
      : null;
  return publishedNumber(type) !== null && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(bound) ? bound : null;
}

/** Returns a message for tables that some engines cannot read because of column names. */
export function unreadableNames(target: string, tables: readonly LakeTable[]): string | null {
  const unreadable = tables.flatMap(({ name, columns }) => {
    const [first, ...others] = columns.filter((column) => REFUSED_IN_NAMES.test(column.name));
    if (first === undefined) return [];
    return [`${name} (${first.name}${others.length === 0 ? '' : ` and ${others.length} more`})`];
  });
  if (unreadable.length === 0) return null;
  return `Spark, Databricks and Fabric cannot read column names with blanks or any of ,;{}()=: ${unreadable.join(', ')}. Set column_mapping: true on ${target}.`;
}
