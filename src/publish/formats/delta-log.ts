/**
 * The log of a Delta table (github.com/delta-io/delta, PROTOCOL.md), and what ripen writes into it. Version N is the newest
 * checkpoint up to N plus the commits after it. Other engines may commit too; unknown features are refused.
 */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import { buckets, type Bucket } from '../../model/calendar.ts';
import { publishedNumber } from '../../model/column-type.ts';
import type { RelationColumn } from '../../warehouse/relations.ts';
import { identifier } from '../../warehouse/sql.ts';
import type { TargetOf } from '../copy.ts';
import { castCell, type LakeTable } from '../tables.ts';

const texts = z.record(z.string(), z.string().nullable());
/** Relative to the table, percent-encoded. */
const filePath = z.string().regex(/^(?:[^%]|%[0-9a-f]{2})+$/i, 'is not percent-encoded');

const add = z.object({
  path: filePath,
  partitionValues: texts,
  size: z.number(),
  modificationTime: z.number(),
  dataChange: z.boolean(),
  /** JSON: row count, and per column the bounds and the count of NULLs. */
  stats: z.string().nullish(),
  tags: texts.nullish(),
});

const remove = z.object({
  path: filePath,
  /** Milliseconds since 1970. */
  deletionTimestamp: z.number().nullish(),
  dataChange: z.boolean(),
  extendedFileMetadata: z.boolean().nullish(),
  partitionValues: texts.nullish(),
  size: z.number().nullish(),
});

const metaData = z.object({
  id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  format: z.object({ provider: z.string(), options: texts.nullish() }),
  /** JSON: a struct of fields. */
  schemaString: z.string(),
  partitionColumns: z.array(z.string()),
  createdTime: z.number().nullish(),
  configuration: texts,
});

/** What a program last did to a table, such as which publish it is of. */
const txn = z.object({
  appId: z.string(),
  version: z.number(),
  lastUpdated: z.number().nullish(),
});

const featureNames = z.array(z.string()).nullish();
const protocol = z.object({
  minReaderVersion: z.number(),
  minWriterVersion: z.number(),
  readerFeatures: featureNames,
  writerFeatures: featureNames,
});

/** Commits also have `commitInfo` and actions for streams and change feeds, which change nothing here. */
const actionShape = z.object({
  add: add.nullish(),
  remove: remove.nullish(),
  metaData: metaData.nullish(),
  protocol: protocol.nullish(),
  txn: txn.nullish(),
});

export type Add = z.infer<typeof add>;
type MetaData = z.infer<typeof metaData>;
export type Action = z.infer<typeof actionShape>;
type Protocol = z.infer<typeof protocol>;

export interface DeltaTable {
  readonly protocol: Protocol;
  readonly metaData: MetaData;
  readonly files: ReadonlyMap<string, Add>;
  readonly tombstones: ReadonlyMap<string, z.infer<typeof remove>>;
  /** By program. */
  readonly txns: ReadonlyMap<string, z.infer<typeof txn>>;
}

export const OWNER = 'ripen.warehouse';
/** The program of `txn` actions. */
export const PROGRAM = 'ripen';
export const MODE = 'delta.columnMapping.mode';

export const LOG = '_delta_log';
const padded = (version: number) => String(version).padStart(20, '0');
export const commitPath = (version: number): string => `${LOG}/${padded(version)}.json`;
export const checkpointPath = (version: number): string =>
  `${LOG}/${padded(version)}.checkpoint.parquet`;
export const HINT = `${LOG}/_last_checkpoint`;

/** Returns the versions of commits and checkpoints among the paths of a table, ascending. */
export function logFiles(paths: Iterable<string>) {
  const commits: number[] = [];
  const checkpoints: number[] = [];
  for (const path of [...paths].toSorted()) {
    const [, version, ending] =
      /^_delta_log\/(\d{20})\.(json|checkpoint\.parquet)$/.exec(path) ?? [];
    if (version !== undefined) (ending === 'json' ? commits : checkpoints).push(Number(version));
  }
  return { commits, checkpoints };
}

/** Reads one action per line. Throws `STORAGE_FAILED` if a line is not one, or there is none. */
export function actionsIn(path: string, text: string): Action[] {
  try {
    const lines = text.trim().split('\n');
    return lines.map((line) => actionShape.parse(JSON.parse(line)));
  } catch (cause) {
    throw garbled(path, cause);
  }
}

const MOVE_AWAY = 'Move the folder of the tables away, so that the next publish makes them again.';

export function garbled(path: string, cause: unknown): Failure {
  const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
  const words = reason.replaceAll(/\s+/g, ' ').slice(0, 200);
  const message = `The file ${path} of a table's log was invalid: ${words}`;
  return new Failure('STORAGE_FAILED', message, { facts: { path }, hint: MOVE_AWAY, cause });
}

const LOCAL_TIMES = 'timestampNtz';
const COLUMN_MAPPING = 'columnMapping';

/** Other engines list the last two, which change nothing for a writer of whole files. */
const knownFeatures = new Set([LOCAL_TIMES, COLUMN_MAPPING, 'appendOnly', 'invariants']);

/** Applies actions in order to a table. Throws `STORAGE_FAILED` or `WAREHOUSE_FOREIGN`. */
export function replay(
  name: string,
  before: DeltaTable | null,
  actions: readonly Action[],
): DeltaTable {
  const files = new Map(before?.files);
  const tombstones = new Map(before?.tombstones);
  const txns = new Map(before?.txns);
  let { protocol: declared, metaData: described }: Action = before ?? {};
  for (const action of actions) {
    declared = action.protocol ?? declared;
    described = action.metaData ?? described;
    if (action.txn) txns.set(action.txn.appId, action.txn);
    if (action.add) {
      files.set(action.add.path, action.add);
      tombstones.delete(action.add.path);
    }
    if (action.remove) {
      files.delete(action.remove.path);
      tombstones.set(action.remove.path, action.remove);
    }
  }
  if (!declared || !described) {
    const message = `The log of ${name} did not say what the table is.`;
    throw new Failure('STORAGE_FAILED', message, { hint: MOVE_AWAY });
  }
  const { minReaderVersion: reader, minWriterVersion: writer } = declared;
  const features = [...(declared.readerFeatures ?? []), ...(declared.writerFeatures ?? [])];
  const unknown = new Set(features.filter((feature) => !knownFeatures.has(feature)));
  const mode = described.configuration[MODE] ?? 'none';
  if (mode !== 'none' && mode !== 'name') unknown.add(`${COLUMN_MAPPING} by ${mode}`);
  const isKnown = ['1 1', '1 2', '1 7', '2 5', '3 7'].includes(`${reader} ${writer}`);
  if (!isKnown || unknown.size > 0) {
    const needs = unknown.size > 0 ? [...unknown].join(', ') : `versions ${reader} and ${writer}`;
    const message = `The table ${name} was changed by another engine; writing to it requires ${needs}.`;
    throw new Failure('WAREHOUSE_FOREIGN', message, {
      facts: { table: name, needs },
      hint: 'Drop those features in the engine that added them, or move the table away.',
    });
  }
  return { protocol: declared, metaData: described, files, tombstones, txns };
}

/** Returns null if the table's own protocol is enough. Older engines read tables without features. */
function newerProtocol(
  before: Protocol | null,
  { hasLocalTimes, isMapped }: { readonly hasLocalTimes: boolean; readonly isMapped: boolean },
): Protocol | null {
  const reader = before?.minReaderVersion ?? 0;
  if (!hasLocalTimes && reader < 3) {
    const [minReaderVersion, minWriterVersion] = isMapped ? ([2, 5] as const) : ([1, 2] as const);
    return minReaderVersion <= reader ? null : { minReaderVersion, minWriterVersion };
  }
  const needed = [hasLocalTimes ? LOCAL_TIMES : [], isMapped ? COLUMN_MAPPING : []].flat();
  // Version 3 has only the features that it lists.
  const { readerFeatures, writerFeatures } = before ?? {};
  if (reader === 3 && needed.every((feature) => readerFeatures?.includes(feature))) return null;
  return {
    minReaderVersion: 3,
    minWriterVersion: 7,
    readerFeatures: [...new Set([...(readerFeatures ?? []), ...needed])],
    writerFeatures: [...new Set([...(writerFeatures ?? []), ...needed])],
  };
}

/** Name and type of every column (empty for a former one). Its position, from 1, is its number in files. */
const COLUMNS = 'ripen.columns';
const UNIT = 'ripen.unit';

/** Characters that some engines refuse in names of Parquet columns. */
const REFUSED_IN_NAMES = /[ ,;{}()\n\t=]/;

/** The hour is in the slice's UTC offset. Other TIMESTAMPs are instants in UTC. */
export const isInstant = ({ name, type }: RelationColumn): boolean =>
  type === 'TIMESTAMP' && name !== 'hour';

function deltaType(column: RelationColumn) {
  if (column.type === 'TIMESTAMP') return isInstant(column) ? 'timestamp' : 'timestamp_ntz';
  if (column.type === 'BIGINT') return 'long';
  return column.type === 'VARCHAR' ? 'string' : column.type.toLowerCase();
}

export function formOf(
  table: LakeTable,
  stored: DeltaTable | null,
  { target, owner, nowMs }: { target: TargetOf<'delta'>; owner: string; nowMs: number },
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
    // Only names that engines refuse differ in the files.
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

const [BLOCK, CONTENT, STAMP] = ['ripen.block', 'ripen.content', 'ripen.stamp'] as const;
const tags = z
  .object({ [BLOCK]: z.string(), [CONTENT]: z.string(), [STAMP]: z.string() })
  .transform((of) => ({ name: of[BLOCK], content: of[CONTENT], stamp: of[STAMP] }));

/** Returns tags by which the next publish need not read the rows of a file. */
export const tagsOf = ({ name, content, stamp }: z.infer<typeof tags>) => ({
  [BLOCK]: name,
  [CONTENT]: content,
  [STAMP]: stamp,
});

/** Returns the block of a file, or null if another program wrote it. */
export const blockIn = (add: Add) => tags.safeParse(add.tags).data ?? null;

const copyRow = z.object({
  count: z.coerce.number(),
  column_statistics: z.array(
    z.object({ key: z.string(), value: z.array(z.object({ key: z.string(), value: z.string() })) }),
  ),
});

/** Returns JSON with all digits of every number, and only exact bounds. */
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

/** Returns a bound as JSON, or null if it may not be exact. Bounds of the protocol have only milliseconds. */
function boundOf({ name, type }: RelationColumn, bound: string | undefined): string | null {
  if (bound === undefined) return null;
  const quoted = JSON.stringify(bound);
  if (type === 'VARCHAR') return Buffer.byteLength(bound) <= MAX_BOUND_BYTES ? quoted : null;
  if (type === 'DATE') return /^\d{4}-\d\d-\d\d$/.test(bound) ? quoted : null;
  if (name === 'hour' && type === 'TIMESTAMP') {
    const isHour = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(bound);
    return isHour ? `"${bound.replace(' ', 'T')}.000"` : null;
  }
  return publishedNumber(type) !== null && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(bound) ? bound : null;
}

export function unreadableNames(target: string, tables: readonly LakeTable[]): string | null {
  const unreadable = tables.flatMap(({ name, columns }) => {
    const [first, ...others] = columns.filter((column) => REFUSED_IN_NAMES.test(column.name));
    if (first === undefined) return [];
    return [`${name} (${first.name}${others.length === 0 ? '' : ` and ${others.length} more`})`];
  });
  if (unreadable.length === 0) return null;
  return `Spark, Databricks and Fabric cannot read column names with blanks or any of ,;{}()=: ${unreadable.join(', ')}. Set column_mapping: true on ${target}.`;
}
