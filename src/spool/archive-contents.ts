/**
 * What the archive holds of a slice, which of it to load again, so that every period ends up with its newest answer; and what is
 * corrupt or foreign in it, set aside when that is told.
 *
 * Nothing found on disk is trusted: a sidecar counts when its checksum matches, a body when its bytes do.
 */

import { lstat, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import type { SliceTable } from '../model/ledger.ts';
import type { Slice } from '../model/slice.ts';
import { isDropNote, readDrops, withoutDropped } from './archive-drops.ts';
import {
  type ArchiveEntry,
  type ArchivedWindow,
  asideName,
  bodyName,
  type Damage,
  fetchedAtOf,
  type Flaw,
  isSetAside,
  parseEntryName,
  parseSidecar,
  SIDECAR,
} from './archive-entry.ts';
import { folderExists, formOf, measureFile, nullWhenMissing, readDocument, sliceFolder } from './archive.ts';
import { onDisk, type Spooled } from './spool.ts';

export interface ArchiveContents {
  /** In the order of their fetches, without the periods that were dropped since. */
  readonly windows: readonly ArchivedWindow[];
  readonly damages: readonly Damage[];
  /** Directories that hold bodies and do not say of what. */
  readonly unknown: readonly string[];
}

/** What there is of a slice, unfinished entries and what was set aside left out; changes nothing. Throws `STORAGE_FAILED`. */
export async function readArchive(warehousePath: string, slice: string): Promise<ArchiveContents> {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const windows: ArchivedWindow[] = [];
    const damages: Damage[] = [];
    const unknown: string[] = [];
    if (!(await folderExists(folder))) return { windows, damages, unknown };
    const drops = await readDrops(folder);
    if ('because' in drops) damages.push(drops);
    for (const found of await readdir(folder, { withFileTypes: true })) {
      if (isSetAside(found.name) || isDropNote(found.name)) continue;
      const path = join(folder, found.name);
      const isEntry = found.isDirectory() && parseEntryName(found.name) !== null;
      const entry = isEntry ? await readEntry(path, slice) : { because: 'it was no entry of the archive' };
      if (entry === 'unknown') unknown.push(path);
      else if (entry === 'unfinished') continue;
      else if ('because' in entry) damages.push({ path, ...entry });
      else windows.push(...withoutDropped({ path, entry }, 'because' in drops ? [] : drops));
    }
    return { windows: windows.toSorted(byFetch), damages, unknown };
  });
}

/** By the instant that counts as the fetch, then by the one of the request. */
function byFetch({ entry: one, path }: ArchivedWindow, { entry: other, path: otherPath }: ArchivedWindow): number {
  return (
    fetchedAtOf(one).getTime() - fetchedAtOf(other).getTime() ||
    one.requestedAt.getTime() - other.requestedAt.getTime() ||
    (path < otherPath ? -1 : 1)
  );
}

async function readEntry(path: string, slice: string): Promise<ArchiveEntry | Flaw | 'unfinished' | 'unknown'> {
  return orUnread(async () => {
    const form = await formOf(path);
    if (form !== 'whole') return form;
    const text = await readDocument(join(path, SIDECAR));
    if (typeof text !== 'string') return text ?? { because: `its ${SIDECAR} was missing` };
    const entry = parseSidecar(text);
    if ('because' in entry || entry.slice === slice) return entry;
    return { because: `it was an answer for slice ${entry.slice}` };
  });
}

/** What the work returns; that the disk refused to read an entry is a flaw of that entry, and of no other. */
async function orUnread<T>(work: () => Promise<T>): Promise<T | Flaw> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    return { because: error.message, isUnread: true };
  }
}

/** What is wrong with an entry's bodies; null when every byte is as it was written. */
async function damageOf({ path, entry }: ArchivedWindow): Promise<Damage | null> {
  const flaw = await orUnread(async (): Promise<Flaw | null> => {
    for (const [partNo, body] of entry.bodies.entries()) {
      if (body === null) continue;
      const name = bodyName(partNo);
      const found = await measureFile(join(path, name));
      if (found === null) return { because: `its ${name} was missing` };
      if (found.bytes !== body.bytes) return { because: `its ${name} had ${found.bytes} bytes, not ${body.bytes}` };
      if (found.sha256 !== body.sha256) return { because: `the checksum of its ${name} did not match` };
    }
    return null;
  });
  return flaw === null ? null : { path, ...flaw };
}

export interface IntactWindows {
  /** Those to load, in the order of their fetches. */
  readonly chosen: readonly ArchivedWindow[];
  readonly broken: ReadonlyMap<ArchivedWindow, Damage>;
}

/** The newest windows whose bodies are whole: where the newest is broken, the one before takes its place. */
export async function intactWindows(windows: readonly ArchivedWindow[], slice: Slice): Promise<IntactWindows> {
  const broken = new Map<ArchivedWindow, Damage>();
  const whole = new Set<ArchivedWindow>();
  for (;;) {
    const chosen = newestWindows(
      windows.filter((window) => !broken.has(window)),
      slice,
    );
    const unseen = chosen.filter((window) => !whole.has(window));
    if (unseen.length === 0) return { chosen, broken };
    for (const window of unseen) {
      const damage = await damageOf(window);
      if (damage === null) whole.add(window);
      else broken.set(window, damage);
    }
  }
}

/** Renames what cannot be loaded, so that it is met only once; returns its new path. Throws `STORAGE_FAILED`. */
export async function setAside(path: string): Promise<string> {
  return onDisk('archive', path, async () => {
    for (let number = 1; ; number += 1) {
      const aside = asideName(path, number);
      if ((await lstat(aside).catch(nullWhenMissing)) !== null) continue;
      await rename(path, aside);
      return aside;
    }
  });
}

/** The answer as it was spooled, read from where it lies: whoever gets it must not discard it. */
export function spooledFrom({ path, entry }: ArchivedWindow, slice: Slice): Spooled {
  const { fingerprint, metrics, asked, replaced, periods, parts, whole, requests, requestedAt, receivedAt } = entry;
  return {
    // There is nobody to ask again: whatever was archived had been believed.
    window: { slice: { ...slice, metrics }, fingerprint, asked, replaced, periods, parts, attempt: 1, growsTo: null },
    answers: (entry.pages ?? parts.map(() => 1)).map((count, partNo, counts) => {
      const first = counts.slice(0, partNo).reduce((sum, each) => sum + each, 0);
      const pages = entry.bodies.slice(first, first + count).flatMap((body, at) =>
        // Long numbers were quoted before the answer was loaded, and it was kept as it was loaded.
        body === null ? [] : [{ ...body, path: join(path, bodyName(first + at)) }],
      );
      return { pages, unfollowed: entry.unfollowed?.[partNo] ?? null };
    }),
    whole: whole === undefined ? null : { totals: new Map(whole.totals), rows: whole.rows, values: new Map() },
    requests,
    requestedAt,
    receivedAt,
  };
}

/**
 * Of windows in the order of their fetches, those that are the newest answer for at least one of their periods, in
 * that order. Loaded one after the other, they leave every period as the newest answer has it.
 */
export function newestWindows(windows: readonly ArchivedWindow[], slice: Slice): ArchivedWindow[] {
  const newest = new Map<string, ArchivedWindow>();
  for (const window of windows) for (const key of periodKeys(window.entry, slice)) newest.set(key, window);
  const chosen = new Set(newest.values());
  return windows.filter((window) => chosen.has(window));
}

/** Whether the ledger holds a later fetch of each of the entry's periods, so that nothing of it would be loaded. */
export function isOutdated(entry: ArchiveEntry, slice: Slice, table: SliceTable | null): boolean {
  const fetchedAt = fetchedAtOf(entry);
  const later = new Set(
    [...(table?.periods.values() ?? [])]
      .filter((loaded) => loaded.fetchedAt > fetchedAt)
      .map((loaded) => periodKey(loaded.bucket.start, slice)),
  );
  return periodKeys(entry, slice).every((key) => later.has(key));
}

function periodKeys(entry: ArchiveEntry, slice: Slice): string[] {
  return entry.periods.map(({ period }) => periodKey(period.bucket.start, slice));
}

/** A report without a date dimension has one period, whatever days each answer covered. */
function periodKey(startDay: string, { grain }: Slice): string {
  return grain === null ? '' : startDay;
}
