/**
 * Plain files: the slices as Parquet files, one per period, and the dimension tables beside them.
 *
 * Only changed files are replaced, each whole. Files whose table or period the warehouse no longer has are removed first, so
 * that no reader meets two versions of a period. Finality is written after the cells it describes, and `_manifest.json` last.
 * The manifest states size and etag of each file: a file that differs, as after a killed publish, is written again.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { dateDimensions } from '../model/dimension.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { lakeTables, type LakeTable } from './lake-table.ts';
import { publisherOf } from './other-database.ts';
import { planTable, type CopyReport, type PeriodContent } from './plan.ts';
import type { PlannedFile, StatedFiles, TablePlan } from './plan.ts';
import { UNFINISHED } from './replacement.ts';
import { draftText, writeFiles, type LakeStore, type StoredFile } from './store.ts';

/** Engines skip names that begin with an underscore. */
export const MANIFEST = '_manifest.json';

const lakeFile = z.object({
  /** Relative to the lake, with `/`. */
  path: z.string(),
  rows: z.number(),
  /** Per metric of an exact type the sum as decimal text; null if all values are NULL. A zod record would drop `__proto__`. */
  sums: z.custom<PlannedFile['sums']>((value) => z.object().safeParse(value).success),
  bytes: z.number(),
  /** Equal for equal rows of equal columns. */
  content: z.string(),
  /** The load that wrote all of the rows; empty if no single one did. */
  stamp: z.string(),
  /** The store's etag of the file as written; null if it has none. */
  etag: z.string().nullable(),
});

/** `warehouse` is the id of the warehouse that the files are a copy of. */
const manifest = z.object({ files: z.array(lakeFile), warehouse: z.string() });

type LakeFile = z.infer<typeof lakeFile>;

/** The manifest of a lake; null if there is none or it cannot be parsed. */
async function readManifest(store: LakeStore): Promise<z.infer<typeof manifest> | null> {
  const text = await store.read(MANIFEST);
  try {
    return manifest.parse(JSON.parse(text ?? ''));
  } catch {
    return null;
  }
}

/** The id of the warehouse that plain files state; null if they state none. */
export async function plainOwner(store: LakeStore): Promise<string | null> {
  return (await readManifest(store))?.warehouse ?? null;
}

const PERIOD_FILE = new RegExp(
  `^([^/]+)/(?:(?:${dateDimensions.join('|')})=(\\d{4}-\\d{2}-\\d{2})/)?data\\.parquet$`,
);

const pathOf = ({ name, key }: LakeTable, period: string): string =>
  [name, ...(period === '' ? [] : [`${key ?? ''}=${period}`]), 'data.parquet'].join('/');

/** Brings plain files up to date and returns what that took. Files that are up to date are not written. */
export async function publishPlain(place: {
  readonly warehouse: Warehouse;
  readonly store: LakeStore;
  readonly signal: AbortSignal;
}): Promise<CopyReport> {
  const { warehouse, store, signal } = place;
  const own = await publisherOf(warehouse);
  const known = new Map((await readManifest(store))?.files.map((file) => [file.path, file]));
  const storedFiles = await store.list('');
  const plans: [LakeTable, TablePlan][] = [];
  for (const table of await lakeTables(warehouse)) {
    plans.push([table, await planTable(warehouse, table, stated(table, known, storedFiles))]);
  }
  const wanted = new Set(
    plans.flatMap(([table, { write, keep }]) =>
      [...write, ...keep].map(({ period }) => pathOf(table, period)),
    ),
  );
  const tables = new Set(plans.map(([{ name }]) => name));
  const surplus = [...storedFiles.keys()].filter((path) => {
    if (path.endsWith(UNFINISHED))
      return tables.has(path.split('/')[0] ?? '') || path.startsWith(MANIFEST);
    return !wanted.has(path) && (known.has(path) || tables.has(PERIOD_FILE.exec(path)?.[1] ?? ''));
  });
  signal.throwIfAborted();
  for (const path of surplus) await store.remove(path);
  const files: LakeFile[] = [];
  for (const [table, plan] of plans)
    files.push(...(await writeTable(place, table, { plan, known })));
  const filesWritten = plans.reduce((sum, [, plan]) => sum + plan.write.length, 0);
  // The manifest states every kept file, so equal counts mean the same files. A new stamp alone is no reason to write it.
  const isSame = filesWritten === 0 && files.length === known.size;
  if (!isSame) {
    const lines = files.map((file) => JSON.stringify(file));
    const text = `{"files":[\n${lines.join(',\n')}\n],\n"warehouse":${JSON.stringify(own.id ?? own.path)}}\n`;
    await draftText(store, MANIFEST, text);
    await store.place(MANIFEST);
  }
  return {
    files_written: filesWritten,
    files_removed: surplus.filter((path) => !path.endsWith(UNFINISHED)).length,
    also_written: isSame ? [] : [MANIFEST],
  };
}

/** The prefix of a file's content: if columns change, all files are written again, so that every engine sees one schema. */
function columnsHash(table: LakeTable): string {
  const declared = JSON.stringify([table.key, table.columns.map(({ name, type }) => [name, type])]);
  return `${createHash('sha256').update(declared).digest('hex').slice(0, 16)}-`;
}

/** What the manifest states of each file; null for a file that is not as written or has other columns. */
function stated(
  table: LakeTable,
  known: ReadonlyMap<string, LakeFile>,
  storedFiles: ReadonlyMap<string, StoredFile>,
): StatedFiles {
  const contents = new Map<string, PeriodContent | null>();
  const columns = columnsHash(table);
  for (const path of new Set([...known.keys(), ...storedFiles.keys()])) {
    const period = PERIOD_FILE.exec(path)?.[2] ?? '';
    if (path !== pathOf(table, period)) continue;
    const [entry, file] = [known.get(path), storedFiles.get(path)];
    const isAsWritten =
      entry !== undefined && entry.bytes === file?.bytes && entry.etag === file.etag;
    const stays = isAsWritten && entry.content.startsWith(columns);
    contents.set(
      period,
      stays ? { content: entry.content.slice(columns.length), stamp: entry.stamp } : null,
    );
  }
  return contents;
}

/** Writes the changed files of a table; returns what the manifest is to state of all its files, by path. */
async function writeTable(
  place: Parameters<typeof writeFiles>[0],
  table: LakeTable,
  { plan, known }: { readonly plan: TablePlan; readonly known: ReadonlyMap<string, LakeFile> },
): Promise<LakeFile[]> {
  const columns = columnsHash(table);
  const written = await writeFiles(place, table, plan.write, {
    pathOf: (period) => pathOf(table, period),
  });
  const files = written.map(
    ({ path, rows, sums, content, stamp, stored: { bytes, etag } }): LakeFile => {
      return { path, rows, sums, bytes, content: `${columns}${content}`, stamp, etag };
    },
  );
  for (const { period, stamp } of plan.keep) {
    const entry = known.get(pathOf(table, period));
    if (entry !== undefined) files.push({ ...entry, stamp });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}
