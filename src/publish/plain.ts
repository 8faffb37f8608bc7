/**
 * Publishes the slices as Parquet files, one per period, and the dimension tables beside them. Only changed files are replaced,
 * each whole. Files without rows are removed first, so that no reader meets two versions of a period. Finality is written after
 * the cells it describes, and `_manifest.json` last. A file that differs from its size and etag there, as after a killed
 * publish, is written again.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { dateDimensions } from '../model/dimension.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { lakeTables, type LakeTable } from './lake-table.ts';
import { publisherOf } from './other-database.ts';
import { planTable, type CopyReport, type PeriodContent } from './plan.ts';
import type { PlannedFile, TablePlan } from './plan.ts';
import { UNFINISHED } from './replacement.ts';
import { draftText, writeFiles, type LakeStore } from './store.ts';

/** Engines skip names that begin with an underscore. */
export const MANIFEST = '_manifest.json';

const lakeFile = z.object({
  /** Relative to the lake, with `/`. */
  path: z.string(),
  rows: z.number(),
  /** As in `PlannedFile`. A zod record would drop `__proto__`. */
  sums: z.custom<PlannedFile['sums']>((value) => z.object().safeParse(value).success),
  bytes: z.number(),
  content: z.string(),
  stamp: z.string(),
  /** The store's etag of the file as written. */
  etag: z.string().nullable(),
});

/** `warehouse` is the id of the warehouse that the files are a copy of. */
const manifest = z.object({ files: z.array(lakeFile), warehouse: z.string() });

type LakeFile = z.infer<typeof lakeFile>;

/** Reads the manifest of a lake; null also if it cannot be parsed. */
export async function readManifest(store: LakeStore): Promise<z.infer<typeof manifest> | null> {
  const text = await store.read(MANIFEST);
  try {
    return manifest.parse(JSON.parse(text ?? ''));
  } catch {
    return null;
  }
}

const PERIOD_FILE = new RegExp(
  `^([^/]+)/(?:(?:${dateDimensions.join('|')})=(\\d{4}-\\d{2}-\\d{2})/)?data\\.parquet$`,
);

const pathOf = ({ name, key }: LakeTable, period: string): string =>
  [name, ...(period === '' ? [] : [`${key ?? ''}=${period}`]), 'data.parquet'].join('/');

/** Writes the files that are not up to date. */
export async function publishPlain(place: {
  readonly warehouse: Warehouse;
  readonly store: LakeStore;
  readonly signal: AbortSignal;
}): Promise<CopyReport> {
  const { warehouse, store, signal } = place;
  const own = await publisherOf(warehouse);
  const entries = new Map((await readManifest(store))?.files.map((file) => [file.path, file]));
  const storedFiles = await store.list('');
  const plans: { table: LakeTable; plan: TablePlan; prefix: string }[] = [];
  const wanted = new Set<string>();
  for (const table of await lakeTables(warehouse)) {
    // If columns change, all files are written again, so that every engine sees one schema.
    const columns = table.columns.map(({ name, type }) => [name, type]);
    const hash = createHash('sha256')
      .update(JSON.stringify([table.key, columns]))
      .digest('hex');
    const prefix = `${hash.slice(0, 16)}-`;
    const contents = new Map<string, PeriodContent | null>();
    for (const path of new Set([...entries.keys(), ...storedFiles.keys()])) {
      const period = PERIOD_FILE.exec(path)?.[2] ?? '';
      if (path !== pathOf(table, period)) continue;
      const [entry, file] = [entries.get(path), storedFiles.get(path)];
      const isAsWritten =
        entry !== undefined && entry.bytes === file?.bytes && entry.etag === file.etag;
      const stays = isAsWritten && entry.content.startsWith(prefix);
      const content = stays ? entry.content.slice(prefix.length) : '';
      contents.set(period, stays ? { content, stamp: entry.stamp } : null);
    }
    const plan = await planTable(warehouse, table, contents);
    plans.push({ table, plan, prefix });
    for (const { period } of [...plan.write, ...plan.keep]) wanted.add(pathOf(table, period));
  }
  const tables = new Set(plans.map(({ table }) => table.name));
  const surplus = [...storedFiles.keys()].filter((path) => {
    if (path.endsWith(UNFINISHED))
      return tables.has(path.split('/')[0] ?? '') || path.startsWith(MANIFEST);
    const isOwn = entries.has(path) || tables.has(PERIOD_FILE.exec(path)?.[1] ?? '');
    return isOwn && !wanted.has(path);
  });
  signal.throwIfAborted();
  for (const path of surplus) await store.remove(path);
  const files: LakeFile[] = [];
  for (const { table, plan, prefix } of plans) {
    const written = await writeFiles(place, table, plan.write, {
      pathOf: (period) => pathOf(table, period),
    });
    const ofTable = written.map(({ path, rows, sums, content, stamp, stored }): LakeFile => {
      const { bytes, etag } = stored;
      return { path, rows, sums, bytes, content: `${prefix}${content}`, stamp, etag };
    });
    for (const { period, stamp } of plan.keep) {
      const entry = entries.get(pathOf(table, period));
      if (entry !== undefined) ofTable.push({ ...entry, stamp });
    }
    files.push(...ofTable.sort((one, other) => (one.path < other.path ? -1 : 1)));
  }
  const filesWritten = plans.reduce((sum, { plan }) => sum + plan.write.length, 0);
  // The manifest states every kept file, so equal counts mean the same files. A new stamp alone is no reason to write it.
  const isSame = filesWritten === 0 && files.length === entries.size;
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
