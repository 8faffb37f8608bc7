/**
 * Keeps loaded answers for a while, in `<warehouse>.archive/<slice>/`, which only the holder of the run lock touches. An entry
 * is one window's complete answer: a directory `<requested at>.<first day>_<last day>.<letters>` with `window.json`, written
 * last and removed first, and a compressed body per page. Nothing is synced to disk: a power cut costs an entry, as its
 * checksums show. Every function throws `STORAGE_FAILED`.
 */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';

import * as z from 'zod';

import { secretForms } from '../config/secret.ts';
import { Failure, systemText, textOf } from '../errors.ts';
import { type Day, lastDay, parseDay } from '../model/calendar.ts';
import { catalogItem } from '../model/catalog-item.ts';
import { dueReasons } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';
import { onDisk, receivedAtOf, requestedAtOf, type Spooled } from './spool.ts';

const PRIVATE = { file: 0o600, folder: 0o700 } as const;

/** Fast, as the next request waits. */
const GZIP = { level: constants.Z_BEST_SPEED };

const SIDECAR = 'window.json';
const ENTRY_NAME = /^\d{8}T\d{9}Z\.[\d_-]{21}\.\w+$/;

const dayShape = z.custom<Day>((value) => typeof value === 'string' && parseDay(value) !== null);
const interval = z.object({ start: dayShape, end: dayShape });
const instantShape = z.iso.datetime().transform((text) => new Date(text));
const valueSet = z.object({ in: z.array(z.string()).nullable(), notIn: z.array(z.string()) });

const entryShape = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  metrics: z.array(z.string()),
  requested: interval,
  replaced: interval,
  periods: z
    .array(
      z.object({
        period: z.object({ bucket: interval, requested: interval }),
        reason: z.enum(dueReasons),
      }),
    )
    .min(1),
  parts: z.array(z.record(z.string(), valueSet)).min(1),
  requestedAt: instantShape,
  receivedAt: instantShape,
  /** The instant that counts as the fetch (default: `requestedAt`). */
  asOf: instantShape.nullable(),
  /** Whether it was loaded as unproven. Totals of the whole are not archived. */
  isUnproven: z.boolean().default(false),
  /** The lost apps whose rows were kept beside it, in which periods. Only older entries may have them. */
  kept: z.array(z.object({ app: z.string(), start: dayShape })).default([]),
  answers: z.array(
    z.object({
      partNo: z.number(),
      metrics: z.array(z.string()),
      bodies: z.array(
        z.object({
          no: z.number(),
          sha256: z.string(),
          bytes: z.number(),
          plainBytes: z.number(),
        }),
      ),
      unfollowed: z.string().nullable(),
    }),
  ),
});

export type ArchiveEntry = z.infer<typeof entryShape>;

export interface ArchivedWindow {
  readonly path: string;
  readonly entry: ArchiveEntry;
}

export interface Damage {
  readonly path: string;
  readonly because: string;
}

export const fetchedAtOf = ({ asOf, requestedAt }: ArchiveEntry): Date => asOf ?? requestedAt;

/** The extension tells DuckDB the encoding. */
export const bodyName = (no: number): string => `part-${no}.json.gz`;

/** Begins the name of an entry, so that names sort by requests. */
const instantName = (at: Date) => at.toISOString().replaceAll(/[-:.]/g, '');

export const archiveRoot = (warehousePath: string): string => `${warehousePath}.archive`;

const sliceFolder = (warehousePath: string, slice: string) =>
  join(archiveRoot(warehousePath), slice);

/** Leaves nothing if it fails. */
export async function archiveWindow(
  warehousePath: string,
  { window, answers, isUnproven, kept }: Spooled & Pick<ArchiveEntry, 'isUnproven' | 'kept'>,
  asOf: Date | null,
): Promise<void> {
  const { slice, fingerprint, requested, replaced, periods, parts } = window;
  const folder = sliceFolder(warehousePath, slice.name);
  const requestedAt = requestedAtOf(answers);
  const stem = `${instantName(requestedAt)}.${requested.start}_${lastDay(requested)}.`;
  await onDisk('archive', folder, async () => {
    await mkdir(folder, { recursive: true, mode: PRIVATE.folder });
    await assertNoLink(folder);
    const path = await mkdtemp(join(folder, stem));
    try {
      const archived: object[] = [];
      let no = 0;
      for (const { box, pages, unfollowed } of answers) {
        if (box.control !== null) continue;
        const bodies: object[] = [];
        for (const page of pages) {
          no += 1;
          const file = await compressBody(page, join(path, bodyName(no)));
          bodies.push({ no, ...file, plainBytes: page.plainBytes });
        }
        archived.push({ partNo: box.partNo, metrics: box.metrics, bodies, unfollowed });
      }
      await writeWhole(join(path, SIDECAR), {
        slice: slice.name,
        fingerprint,
        metrics: slice.metrics,
        requested,
        replaced,
        periods,
        parts,
        requestedAt,
        receivedAt: receivedAtOf(answers),
        asOf,
        isUnproven,
        kept,
        answers: archived,
      });
    } catch (error) {
      await remove(path);
      throw error;
    }
  });
}

async function compressBody(body: SavedBody, to: string) {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    createReadStream(body.path),
    body.encoding === 'gzip' ? createGunzip() : new PassThrough(),
    withoutSecrets,
    createGzip(GZIP),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(to, { flags: 'wx', mode: PRIVATE.file }),
  );
  return { sha256: hash.digest('hex'), bytes };
}

async function* withoutSecrets(body: AsyncIterable<Buffer>) {
  const forms = secretForms();
  const longest = Math.max(1, ...forms.map(({ length }) => length));
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    const bytes = Buffer.concat([rest, chunk]);
    if (forms.some((form) => bytes.includes(form)))
      throw new Failure('STORAGE_FAILED', 'The answer contained a credential.', {
        hint: 'Reset the credential and report it to the operator of the service.',
      });
    rest = bytes.subarray(-longest);
    yield chunk;
  }
}

async function writeWhole(path: string, content: object): Promise<void> {
  const text = JSON.stringify(content);
  const part = `${path}.part`;
  await writeFile(part, `{"sha256":"${checksumOf(text)}","content":${text}}\n`, {
    mode: PRIVATE.file,
  });
  await rename(part, path);
}

/** Returns the content, or a text that says what is wrong with it. */
async function readWhole<T extends object>(path: string, shape: z.ZodType<T>) {
  if (!existsSync(path)) return null;
  const text = await readFile(path, 'utf8');
  const [, sha256, content = ''] = /^\{"sha256":"(\w+)","content":(.*)\}\n$/s.exec(text) ?? [];
  if (sha256 !== checksumOf(content)) return 'did not match its checksum';
  return shape.safeParse(JSON.parse(content)).data ?? 'had missing or invalid fields';
}

const checksumOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** Deletes the entries requested before an instant, and unfinished ones of killed runs. */
export async function removeEntries(warehousePath: string, before: Date): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    const folders = existsSync(root) ? await readdir(root, { withFileTypes: true }) : [];
    for (const folder of folders.filter((file) => file.isDirectory())) {
      for (const { name, path, isEntry } of await filesIn(join(root, folder.name))) {
        const isOld = name < instantName(before) || !existsSync(join(path, SIDECAR));
        if (isEntry && isOld) await removeEntry(path);
      }
    }
  });
}

/** Returns a slice's entries in the order of their fetches, and what cannot be loaded. */
export async function readArchive(warehousePath: string, slice: string) {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const windows: ArchivedWindow[] = [];
    const damages: Damage[] = [];
    for (const { path, isEntry } of await filesIn(folder)) {
      const entry = isEntry
        ? await readWhole(join(path, SIDECAR), entryShape).catch(systemMessage)
        : 'is not an entry of the archive';
      if (typeof entry === 'string')
        damages.push({ path, because: `${isEntry ? `its ${SIDECAR}` : 'it'} ${entry}` });
      else if (entry !== null && entry.slice !== slice)
        damages.push({ path, because: `it was an answer for slice ${entry.slice}` });
      else if (entry !== null) windows.push({ path, entry });
    }
    const at = ({ entry, path }: ArchivedWindow) =>
      [instantName(fetchedAtOf(entry)), instantName(entry.requestedAt), path].join(' ');
    return { windows: windows.toSorted((one, other) => (at(one) < at(other) ? -1 : 1)), damages };
  });
}

/** Rethrows any error but the file system's. */
export function systemMessage(error: unknown): string {
  if (systemText(error, 'syscall') === '') throw error;
  return textOf(error);
}

/** Deletes entries of a slice, and its folder if nothing is left in it. */
export async function dropEntries(
  warehousePath: string,
  slice: string,
  paths: readonly string[],
): Promise<void> {
  const folder = sliceFolder(warehousePath, slice);
  await onDisk('archive', folder, async () => {
    for (const path of paths) await removeEntry(path);
    // Files that are not the archive's stay.
    if (existsSync(folder) && (await readdir(folder)).length === 0) await rmdir(folder);
  });
}

/** Returns all entries of a slice, or those with a period that ended by the start of a day. */
export async function entriesToDrop(warehousePath: string, slice: string, before: Day | null) {
  if (before !== null) {
    const { windows } = await readArchive(warehousePath, slice);
    return windows
      .filter(({ entry }) => entry.periods.some(({ period }) => period.bucket.end <= before))
      .map(({ path }) => path);
  }
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const files = await filesIn(folder);
    return files.filter(({ isEntry }) => isEntry).map(({ path }) => path);
  });
}

/** Throws `STORAGE_FAILED` for a symbolic link, which could lead out of the archive. */
async function filesIn(folder: string) {
  if (!existsSync(folder)) return [];
  await assertNoLink(folder);
  const files = await readdir(folder, { withFileTypes: true });
  return files.map((file) => {
    const isEntry = file.isDirectory() && ENTRY_NAME.test(file.name);
    return { name: file.name, path: join(folder, file.name), isEntry };
  });
}

/** Deletes the sidecar first: a kill leaves no entry that lacks a body. */
async function removeEntry(path: string): Promise<void> {
  await remove(join(path, SIDECAR));
  await remove(path);
}

const remove = async (path: string) => rm(path, { recursive: true, force: true });

async function assertNoLink(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  throw new Failure('STORAGE_FAILED', `${path} is a symbolic link, which ripen does not follow.`, {
    hint: 'Replace it with a directory.',
  });
}

/** No slice can have this name, as slice names have no dot. */
const CATALOG = 'catalog.json';

const catalogShape = z.object({ seenAt: instantShape, items: z.array(catalogItem).readonly() });
type SeenCatalog = Readonly<z.infer<typeof catalogShape>>;

/** Without it a new warehouse would have to guess the types. */
export async function archiveCatalog(warehousePath: string, catalog: SeenCatalog): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    await mkdir(root, { recursive: true, mode: PRIVATE.folder });
    await writeWhole(join(root, CATALOG), catalog);
  });
}

export async function readArchivedCatalog(warehousePath: string) {
  const path = join(archiveRoot(warehousePath), CATALOG);
  return onDisk('archive', path, async () => {
    const catalog = await readWhole(path, catalogShape);
    return typeof catalog === 'string' ? { path, because: `it ${catalog}` } : catalog;
  });
}
