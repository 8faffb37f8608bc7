/**
 * Plain files: the slices as Parquet files, one per period, and the dimension tables beside them.
 *
 * Only files whose content changed are replaced, each whole. Files that should no longer be there go first, so that no reader meets
 * two versions of a period; then the new ones, what is final after the cells it speaks of, and last `_manifest.json`. It states how
 * each file lay when it was written: one that lies otherwise, as after a killed publish, is written again.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { dateDimensions } from '../model/dimension.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { castCell, copyPeriod } from './lake-sql.ts';
import { lakeTables, type LakeTable, type SliceFiles } from './lake-table.ts';
import { publisherOf } from './other-database.ts';
import {
  planTable,
  writeFiles,
  type PeriodContent,
  type PlannedFile,
  type StatedFiles,
  type TablePlan,
} from './plan.ts';
import type { CopyReport } from './report.ts';
import { UNFINISHED } from './replacement.ts';
import { draftText, inBatches, type LakeStore, type StoredFile } from './store.ts';

/** The engines pass over names that begin with an underscore. */
export const MANIFEST = '_manifest.json';

const lakeFile = z.object({
  /** Relative to the lake, with `/`. */
  path: z.string(),
  rows: z.number(),
  /** Per metric of an exact type, the sum as decimal text; null when every value is. A record would leave `__proto__` out. */
  sums: z.custom<PeriodContent['sums']>((value) => z.object().safeParse(value).success),
  bytes: z.number(),
  /** Equal for equal rows of equal columns. */
  content: z.string(),
  /** Which load brought all of the rows; empty where none did. */
  stamp: z.string(),
  /** What the store called the file when it took it. */
  etag: z.string().nullable(),
});

/** With the id of the warehouse it is a copy of. */
const manifest = z.object({ files: z.array(lakeFile), warehouse: z.string() });

type LakeFile = z.infer<typeof lakeFile>;
type Manifest = z.infer<typeof manifest>;

/** What a manifest's text states; null for none, and for one that cannot be understood. */
function manifestIn(text: string | null): Manifest | null {
  try {
    return manifest.parse(JSON.parse(text ?? ''));
  } catch {
    return null;
  }
}

/** The id of the warehouse that plain files state; null for none. */
export async function plainOwner(store: LakeStore): Promise<string | null> {
  return manifestIn(await store.read(MANIFEST))?.warehouse ?? null;
}

function manifestText({ files, warehouse }: Manifest): string {
  const lines = files.map((file) => JSON.stringify(file));
  return `{"files":[\n${lines.join(',\n')}\n],\n"warehouse":${JSON.stringify(warehouse)}}\n`;
}

const PERIOD_FILE = new RegExp(`^([^/]+)/(?:(?:${dateDimensions.join('|')})=(\\d{4}-\\d{2}-\\d{2})/)?data\\.parquet$`);

const pathOf = ({ name, key }: LakeTable, period: string | null): string =>
  [name, ...(period === null ? [] : [`${key ?? ''}=${period}`]), 'data.parquet'].join('/');

/** Brings plain files up to the warehouse and says what that took; files that are up to date are not written to at all. */
export async function publishPlain(
  warehouse: Warehouse,
  store: LakeStore,
  { dropped, signal }: { readonly dropped: SliceFiles | undefined; readonly signal: AbortSignal },
): Promise<CopyReport> {
  const own = await publisherOf(warehouse);
  const stated = manifestIn(await store.read(MANIFEST));
  const lying = await store.list('');
  const known = new Map(stated?.files.map((file) => [file.path, file]));
  const plans: [LakeTable, TablePlan][] = [];
  for (const table of await lakeTables(warehouse)) {
    plans.push([table, await planTable(warehouse, table, storedFiles(table, known, lying))]);
  }
  const wanted = new Set(plans.flatMap(([table, plan]) => pathsOf(table, plan)));
  const tables = new Set(plans.map(([{ name }]) => name));
  const surplus = [...lying.keys()].filter((path) => {
    if (path.endsWith(UNFINISHED)) return tables.has(path.split('/')[0] ?? '') || path.startsWith(MANIFEST);
    const isOfTable = tables.has(PERIOD_FILE.exec(path)?.[1] ?? '');
    return !wanted.has(path) && (isOfTable || (dropped !== undefined && isOfSlice(path, dropped)));
  });
  signal.throwIfAborted();
  await inBatches(store, surplus, async (path) => store.remove(path));
  const files: LakeFile[] = [];
  for (const [table, plan] of plans)
    files.push(...(await writeTable({ warehouse, store, signal }, table, { plan, lying })));
  // Rows that came again unchanged have another stamp, which alone is no reason to write.
  const isSame = stated !== null && files.length === known.size && files.every((file) => isAsStated(file, known));
  if (!isSame) {
    await draftText(store, MANIFEST, manifestText({ files, warehouse: own.id ?? own.path }));
    await store.place(MANIFEST);
  }
  return {
    files_written: plans.reduce((sum, [, plan]) => sum + plan.write.length, 0),
    files_removed: surplus.filter((path) => !path.endsWith(UNFINISHED)).length,
    also_written: isSame ? [] : [MANIFEST],
  };
}

/** Equal for equal columns: where they differ, all files are written, so that every engine sees one schema. */
function columnsHash(table: LakeTable): string {
  const declared = JSON.stringify([table.key, table.columns.map(({ name, type }) => [name, type])]);
  return createHash('sha256').update(declared).digest('hex').slice(0, 16);
}

type ManifestFiles = ReadonlyMap<string, LakeFile>;
type Lying = ReadonlyMap<string, StoredFile>;

/** What the planner compares: what the manifest states of each file that lies as it was written. */
function storedFiles(table: LakeTable, known: ManifestFiles, lying: Lying): StatedFiles {
  const held = new Map<string, PeriodContent | null>();
  const columns = `${columnsHash(table)}-`;
  for (const path of new Set([...known.keys(), ...lying.keys()])) {
    const period = PERIOD_FILE.exec(path)?.[2] ?? null;
    if (path !== pathOf(table, period)) continue;
    const [entry, file] = [known.get(path), lying.get(path)];
    const isAsWritten = entry !== undefined && entry.bytes === file?.bytes && entry.etag === file.etag;
    const stays = isAsWritten && entry.content.startsWith(columns);
    held.set(period ?? '', stays ? { ...entry, content: entry.content.slice(columns.length) } : null);
  }
  return held;
}

const pathsOf = (table: LakeTable, { write, keep }: TablePlan): string[] =>
  [...write, ...keep].map(({ period }) => pathOf(table, period));

/** Writes what changed of a table and returns what the manifest states of all its files. */
async function writeTable(
  place: { readonly warehouse: Warehouse; readonly store: LakeStore; readonly signal: AbortSignal },
  table: LakeTable,
  { plan, lying }: { readonly plan: TablePlan; readonly lying: Lying },
): Promise<LakeFile[]> {
  const files = plan.write.map(({ period, rows }) => ({
    path: pathOf(table, period),
    rows,
    copyTo: (draft: string) => copyPeriod(table, period, draft, { cell: castCell }),
  }));
  const written = new Map((await writeFiles(place, files)).map((file) => [file.path, file.stored]));
  const columns = columnsHash(table);
  const stated = ({ period, rows, sums, content, stamp }: PlannedFile): LakeFile => {
    const path = pathOf(table, period);
    const { bytes, etag } = written.get(path) ?? lying.get(path) ?? { bytes: 0, etag: null };
    return { path, rows, sums, bytes, content: `${columns}-${content}`, stamp, etag };
  };
  return [...plan.write, ...plan.keep].map(stated).sort((one, other) => (one.path < other.path ? -1 : 1));
}

function isAsStated({ path, content, bytes, etag }: LakeFile, known: ManifestFiles): boolean {
  const entry = known.get(path);
  return entry?.content === content && entry.bytes === bytes && entry.etag === etag;
}

/** Whether a file is one of a slice, or of its periods that begin before a day. */
function isOfSlice(path: string, { slice, before }: SliceFiles): boolean {
  const [, name, period] = PERIOD_FILE.exec(path) ?? [];
  return name === slice && (before === null || (period ?? before) < before);
}

/** How many plain files of a slice, or of its oldest periods, lie in a store. */
export async function plainFilesOfSlice(store: LakeStore, files: SliceFiles): Promise<number> {
  return [...(await store.list(files.slice)).keys()].filter((path) => isOfSlice(path, files)).length;
}
