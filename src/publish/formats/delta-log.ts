/**
 * The log of a Delta table (github.com/delta-io/delta, PROTOCOL.md): version N is the newest checkpoint up to N plus the commits
 * after it. Other engines may commit too; features that are unknown here are refused.
 */

import * as z from 'zod';

import { Failure } from '../../errors.ts';

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

/** Commits also have `commitInfo`, which changes nothing, and actions for streams and change feeds of other engines. */
const actionShape = z.object({
  add: add.nullish(),
  remove: remove.nullish(),
  metaData: metaData.nullish(),
  protocol: protocol.nullish(),
  txn: txn.nullish(),
});

export type Add = z.infer<typeof add>;
export type MetaData = z.infer<typeof metaData>;
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
const padded = (version: number): string => String(version).padStart(20, '0');
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

/** Other engines list the last two when they upgrade a table; these change nothing for a writer of whole files. */
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

/** Returns the protocol that a table must declare, or null if its own is enough. Older engines read tables without features. */
export function newerProtocol(
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
