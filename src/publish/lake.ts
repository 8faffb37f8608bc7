/**
 * The lake: the slices as Parquet files, one per period, and the dimension tables beside them.
 *
 * Only files whose content changed are replaced, each by one rename. The order makes a kill harmless: a journal names
 * what is about to change; files that should be gone go first, so that no reader ever meets two versions of a period;
 * then the new ones, the catalog, and last the manifest. Files of slices that are no longer configured are not touched,
 * and no longer stated in the manifest.
 */

import { dirname, join } from 'node:path';

import type { PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Slice } from '../model/slice.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { CATALOG, catalogContent, replaceCatalog } from './lake-catalog.ts';
import { bytesOf, sweep, wantedFiles, type WantedFile } from './lake-files.ts';
import { catalogStatements, copyPeriod } from './lake-sql.ts';
import { lakeTables, type LakeTable } from './lake-table.ts';
import {
  beginReplacing,
  finishReplacing,
  readManifest,
  type KnownLake,
  type LakeFile,
  type Manifest,
} from './manifest.ts';
import { refuseForeign, strangersInCatalog } from './occupant.ts';
import {
  makeDirectory,
  makeInnerDirectory,
  putInPlace,
  removeUnfinished,
  syncDirectory,
  unfinishedPath,
} from './replacement.ts';

type Lake = Extract<PublishTarget, { kind: 'parquet' }>;

/** Brings a lake up to the warehouse; returns how many Parquet files were written. */
export async function publishLake(
  slices: readonly Slice[],
  warehouse: Warehouse,
  lake: Lake,
  signal: AbortSignal,
): Promise<number> {
  const root = lake.path;
  if (root.includes('://')) {
    throw new Failure('USAGE_INVALID', `The lake ${root} was not published: this version writes to local disks only.`, {
      hint: 'Publish to a local directory and copy it to the store.',
    });
  }
  await makeDirectory(root, lake.mode);
  await refuseForeign(join(root, CATALOG), warehouse.path, strangersInCatalog, signal);
  const known = await readManifest(root);
  const work = await findWork(slices, warehouse, root, known);
  if (work.changing.length > 0) await beginReplacing(root, work.changing, lake.mode);
  for (const table of work.tables) {
    await makeInnerDirectory(join(root, table.name), lake.mode);
    await sweep(root, table, new Set(work.files.map(({ path }) => path)));
  }
  await writeFiles(warehouse, lake, work.stale, signal);
  for (const { name } of work.tables) await syncDirectory(join(root, name));
  if (work.changing.includes(CATALOG)) await replaceCatalog(join(root, CATALOG), work.statements, lake.mode);
  await syncDirectory(root);
  await finishReplacing(root, known, await statedBy(root, work), lake.mode);
  return work.stale.length;
}

/** What a lake should hold, and what of it has to be written. */
interface Work {
  readonly tables: readonly LakeTable[];
  readonly files: readonly WantedFile[];
  readonly stale: readonly WantedFile[];
  readonly statements: readonly string[];
  /** Paths of everything that is going to be replaced, the catalog too. */
  readonly changing: readonly string[];
}

async function findWork(slices: readonly Slice[], warehouse: Warehouse, root: string, known: KnownLake): Promise<Work> {
  const names = slices.map(({ name }) => name);
  const tables = await lakeTables(warehouse, names);
  const files: WantedFile[] = [];
  for (const table of tables) files.push(...(await wantedFiles(warehouse, table)));
  const stale: WantedFile[] = [];
  for (const file of files) if (!(await isCurrent(root, known, file))) stale.push(file);
  const statements = catalogStatements(root, tables, new Set(files.map(({ table }) => table)));
  const catalog = { path: CATALOG, content: catalogContent(statements) };
  const changing = [...stale, ...((await isCurrent(root, known, catalog)) ? [] : [catalog])].map(({ path }) => path);
  return { tables, files, stale, statements, changing };
}

async function statedBy(root: string, { files, statements }: Work): Promise<Manifest> {
  const stated: LakeFile[] = [];
  for (const { path, rows, sums, content } of files) {
    stated.push({ path, rows, sums, bytes: await writtenBytes(root, path), content });
  }
  const bytes = await writtenBytes(root, CATALOG);
  return { files: stated, catalog: { path: CATALOG, bytes, content: catalogContent(statements) } };
}

/** Whether a file is there as it was written, from the content it should have. */
async function isCurrent(
  root: string,
  known: KnownLake,
  wanted: { readonly path: string; readonly content: string },
): Promise<boolean> {
  const entry = known.entries.get(wanted.path);
  return entry?.content === wanted.content && entry.bytes === (await bytesOf(join(root, wanted.path)));
}

/** One query at a time; a file is made durable while the next is being written, which halves the time. */
async function writeFiles(
  warehouse: Warehouse,
  lake: Lake,
  files: readonly WantedFile[],
  signal: AbortSignal,
): Promise<void> {
  let placing = Promise.resolve();
  try {
    for (const file of files) {
      signal.throwIfAborted();
      await writeUnfinished(warehouse, lake, file);
      await placing;
      placing = place(lake, file);
      // It is awaited after the next file; without this a failure before that would end the process.
      placing.catch(() => null);
    }
    await placing;
  } finally {
    await Promise.allSettled([placing]);
  }
}

async function writeUnfinished(warehouse: Warehouse, lake: Lake, file: WantedFile): Promise<void> {
  const target = join(lake.path, file.path);
  await makeInnerDirectory(dirname(target), lake.mode);
  try {
    const rows = await warehouse.run(copyPeriod(file.table, file.period, unfinishedPath(target)));
    if (rows === file.rows) return;
    throw new Failure('STORAGE_FAILED', `The file ${target} got ${rows} rows where the period had ${file.rows}.`, {
      facts: { written: rows, expected: file.rows },
      hint: 'Run `ripen publish` again; the old file is still served.',
    });
  } catch (error) {
    await removeUnfinished(target);
    throw error;
  }
}

async function place(lake: Lake, file: WantedFile): Promise<void> {
  const target = join(lake.path, file.path);
  try {
    await putInPlace(target, lake.mode);
    await syncDirectory(dirname(target));
  } catch (error) {
    await removeUnfinished(target);
    throw error;
  }
}

async function writtenBytes(root: string, path: string): Promise<number> {
  const bytes = await bytesOf(join(root, path));
  if (bytes !== null) return bytes;
  throw new Failure('STORAGE_FAILED', `The file ${join(root, path)} vanished while the lake was being published.`, {
    hint: 'Run `ripen publish` again; it makes what is missing.',
  });
}
