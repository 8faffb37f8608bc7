/**
 * The archive: keeps loaded answers for a while so that they can be loaded again.
 *
 * It is in `<warehouse>.archive/<slice>/`; only the holder of the run lock touches it. A symbolic link in the place of a
 * slice's folder is not followed. Nothing is synced to disk: a power cut costs an entry, which its checksums show.
 */

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
import { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import { catalogItem } from '../model/catalog-item.ts';
import type { SavedBody } from '../service/service.ts';
import { Measuring, onDisk, type Measured, type Spooled } from './spool.ts';
import {
  type ArchivedWindow,
  type ArchiveEntry,
  type BodyFile,
  bodyName,
  type Damage,
  documentText,
  entryOf,
  entryStem,
  fetchedAtOf,
  instantName,
  instantShape,
  isEntryName,
  keepPeriods,
  parseDocument,
  parseSidecar,
  rowAnswers,
  SIDECAR,
} from './archive-entry.ts';

/** Reports are confidential: only the owner may read them. */
const PRIVATE = { file: 0o600, folder: 0o700 } as const;

/** The service waits for the next request while whole answers are compressed; a smaller file is not worth the time. */
const GZIP = { level: constants.Z_BEST_SPEED };

/** The directory of a warehouse's archive. */
export function archiveRoot(warehousePath: string): string {
  return `${warehousePath}.archive`;
}

const sliceFolder = (warehousePath: string, slice: string): string =>
  join(archiveRoot(warehousePath), slice);

/** Stores a loaded window's answer; `asOf` counts as its fetch unless null. Throws `STORAGE_FAILED` and leaves nothing then. */
export async function archiveWindow(
  warehousePath: string,
  spooled: Spooled,
  asOf: Date | null,
): Promise<void> {
  const folder = sliceFolder(warehousePath, spooled.window.slice.name);
  await onDisk('archive', folder, async () => {
    await mkdir(folder, { recursive: true, mode: PRIVATE.folder });
    await assertNoLink(folder);
    const path = await mkdtemp(join(folder, entryStem(spooled)));
    try {
      const bodies: BodyFile[] = [];
      for (const page of rowAnswers(spooled.answers).flatMap(({ pages }) => pages)) {
        const no = bodies.length + 1;
        const measured = await compressBody(page, join(path, bodyName(no)));
        bodies.push({ no, ...measured, plainBytes: page.plainBytes, encoding: 'gzip' });
      }
      await writeWhole(join(path, SIDECAR), entryOf(spooled, asOf, bodies));
    } catch (error) {
      await remove(path);
      throw error;
    }
  });
}

async function compressBody(body: SavedBody, to: string): Promise<Measured> {
  const decoding = body.encoding === 'gzip' ? createGunzip() : new PassThrough();
  const measuring = new Measuring();
  const sink = createWriteStream(to, { flags: 'wx', mode: PRIVATE.file });
  const source = createReadStream(body.path);
  await pipeline(source, decoding, withoutSecrets, createGzip(GZIP), measuring, sink);
  return measuring.measured();
}

/** Passes a body on. Throws `STORAGE_FAILED` if it contains a secret, beside its rows for example: it must not be kept. */
async function* withoutSecrets(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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

/** Replaces a document, whole or not at all. */
async function writeWhole(path: string, content: unknown): Promise<void> {
  const part = `${path}.part`;
  await writeFile(part, documentText(content), { mode: PRIVATE.file });
  await rename(part, path);
}

/** Deletes the entries requested before an instant, and unfinished ones of killed runs. Throws `STORAGE_FAILED`. */
export async function removeEntries(warehousePath: string, before: Date): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    const found = existsSync(root) ? await readdir(root, { withFileTypes: true }) : [];
    for (const folder of found.filter((each) => each.isDirectory())) {
      for (const { name, path } of await entriesIn(join(root, folder.name))) {
        if (name < instantName(before) || !existsSync(join(path, SIDECAR))) await removeEntry(path);
      }
    }
  });
}

/** A slice's entries in the order of their fetches, and what cannot be loaded; no unfinished ones. Throws `STORAGE_FAILED`. */
export async function readArchive(
  warehousePath: string,
  slice: string,
): Promise<{ readonly windows: readonly ArchivedWindow[]; readonly damages: readonly Damage[] }> {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const windows: ArchivedWindow[] = [];
    const damages: Damage[] = [];
    for (const { path, isEntry } of await foundIn(folder)) {
      const entry = isEntry ? await readEntry(path, slice) : 'it was no entry of the archive';
      if (typeof entry === 'string') damages.push({ path, because: entry });
      else if (entry !== null) windows.push({ path, entry });
    }
    return { windows: windows.toSorted(byFetch), damages };
  });
}

/** Returns the entry of a directory, null if it is unfinished, or a text that says why it cannot be loaded or read. */
async function readEntry(path: string, slice: string): Promise<ArchiveEntry | string | null> {
  try {
    const text = await readDocument(join(path, SIDECAR));
    if (text === null) return null;
    const entry = parseSidecar(text);
    if (typeof entry === 'string') return `its ${SIDECAR} ${entry}`;
    return entry.slice === slice ? entry : `it was an answer for slice ${entry.slice}`;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return error.message;
    throw error;
  }
}

/** Compares by the instant that counts as the fetch, then by that of the request, then by path. */
function byFetch(
  { entry: one, path }: ArchivedWindow,
  { entry: other, path: otherPath }: ArchivedWindow,
): number {
  return (
    fetchedAtOf(one).getTime() - fetchedAtOf(other).getTime() ||
    one.requestedAt.getTime() - other.requestedAt.getTime() ||
    (path < otherPath ? -1 : 1)
  );
}

/** An entry that has periods to drop; `kept` is what remains of it, undefined if nothing does. */
interface DroppedAnswer {
  readonly path: string;
  readonly kept: ArchivedWindow | undefined;
}

/** Removes periods of a slice from the archive. Throws `STORAGE_FAILED`. */
export async function dropAnswers(
  warehousePath: string,
  slice: string,
  answers: readonly DroppedAnswer[],
): Promise<void> {
  const folder = sliceFolder(warehousePath, slice);
  await onDisk('archive', folder, async () => {
    for (const { path, kept } of answers) {
      if (kept === undefined) await removeEntry(path);
      else await writeWhole(join(path, SIDECAR), kept.entry);
    }
    // Files that are not the archive's stay.
    if (existsSync(folder) && (await readdir(folder)).length === 0) await rmdir(folder);
  });
}

/** A slice's entries with periods to drop: all, or those that ended by the start of a day. Throws `STORAGE_FAILED`. */
export async function answersToDrop(
  warehousePath: string,
  slice: string,
  before: Day | null,
): Promise<readonly DroppedAnswer[]> {
  if (before === null) {
    const folder = sliceFolder(warehousePath, slice);
    return onDisk('archive', folder, async () =>
      (await entriesIn(folder)).map(({ path }) => ({ path, kept: undefined })),
    );
  }
  const { windows } = await readArchive(warehousePath, slice);
  return windows.flatMap((window) => {
    const [kept] = keepPeriods(window, ({ period }) => period.bucket.end > before);
    return kept?.entry.periods.length === window.entry.periods.length
      ? []
      : [{ path: window.path, kept }];
  });
}

/** Lists a slice's folder. Throws `STORAGE_FAILED` if it is a symbolic link, which could lead out of the archive. */
async function foundIn(folder: string) {
  if (!existsSync(folder)) return [];
  await assertNoLink(folder);
  const found = await readdir(folder, { withFileTypes: true });
  return found.map((each) => {
    return {
      name: each.name,
      path: join(folder, each.name),
      isEntry: each.isDirectory() && isEntryName(each.name),
    };
  });
}

const entriesIn = async (folder: string) =>
  (await foundIn(folder)).filter(({ isEntry }) => isEntry);

/** Deletes the sidecar first, so that a kill leaves no entry that lacks a body. */
async function removeEntry(path: string): Promise<void> {
  await remove(join(path, SIDECAR));
  await remove(path);
}

const remove = async (path: string): Promise<void> => rm(path, { recursive: true, force: true });

async function assertNoLink(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  throw new Failure('STORAGE_FAILED', `The directory ${path} was a symbolic link.`, {
    hint: 'Put a directory in its place; links inside the archive are not followed.',
  });
}

async function readDocument(path: string): Promise<string | null> {
  return existsSync(path) ? readFile(path, 'utf8') : null;
}

/** No slice can have this name: slice names have no dot. */
const CATALOG = 'catalog.json';

const catalogShape = z.object({ seenAt: instantShape, items: z.array(catalogItem) });

interface SeenCatalog {
  /** When the service listed it. */
  readonly seenAt: Date;
  readonly items: Catalog;
}

/** Replaces the stored catalog, without which a new warehouse would have to guess the types. Throws `STORAGE_FAILED`. */
export async function archiveCatalog(
  warehousePath: string,
  { seenAt, items }: SeenCatalog,
): Promise<void> {
  const root = archiveRoot(warehousePath);
  await onDisk('archive', root, async () => {
    await mkdir(root, { recursive: true, mode: PRIVATE.folder });
    await writeWhole(join(root, CATALOG), { seenAt, items });
  });
}

/** Returns the stored catalog, or what is wrong with it. */
export async function readArchivedCatalog(
  warehousePath: string,
): Promise<SeenCatalog | Damage | null> {
  const path = join(archiveRoot(warehousePath), CATALOG);
  return onDisk('archive', path, async () => {
    const text = await readDocument(path);
    if (text === null) return null;
    const found = parseDocument(text, catalogShape);
    return typeof found === 'string' ? { path, because: `it ${found}` } : found;
  });
}
