/**
 * What the archive holds of a slice, which of it to load again, so that every period ends up with its newest answer; and what is
 * corrupt or foreign in it, set aside when that is told.
 *
 * Nothing found on disk is trusted: a sidecar counts when its checksum matches, a body when its bytes do.
 */

import { lstat, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import type { LoadedPeriod, SliceTable } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { DuePeriod } from '../model/window.ts';
import { isDropNote, readDrops, withoutDropped } from './archive-drops.ts';
import {
  type ArchiveEntry,
  type ArchivedWindow,
  asideName,
  believedEntry,
  bodyName,
  type Damage,
  fetchedAtOf,
  type Flaw,
  isSetAside,
  narrowed,
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
  /** What is wrong with the note of what was dropped, so that nobody knows which periods are to stay away; else null. */
  readonly note: Damage | null;
  /** Directories that hold bodies and do not say of what. */
  readonly unknown: readonly string[];
}

/** What there is of a slice at `now`, unfinished entries and what was set aside left out; changes nothing. Throws `STORAGE_FAILED`. */
export async function readArchive(warehousePath: string, slice: string, now: Date): Promise<ArchiveContents> {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    const windows: ArchivedWindow[] = [];
    const damages: Damage[] = [];
    const unknown: string[] = [];
    if (!(await folderExists(folder))) return { windows, damages, note: null, unknown };
    const drops = await readDrops(folder);
    const note = 'because' in drops ? drops : null;
    for (const found of await readdir(folder, { withFileTypes: true })) {
      if (isSetAside(found.name) || isDropNote(found.name)) continue;
      const path = join(folder, found.name);
      const isEntry = found.isDirectory() && parseEntryName(found.name) !== null;
      const entry = isEntry ? await readEntry(path, slice) : { because: 'it was no entry of the archive' };
      if (entry === 'unknown') unknown.push(path);
      else if (entry === 'unfinished') continue;
      else if ('because' in entry) damages.push({ path, ...entry });
      else windows.push(...withoutDropped({ path, entry: believedEntry(entry, now) }, 'because' in drops ? [] : drops));
    }
    return { windows: windows.toSorted(byFetch), damages, note, unknown };
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
  /** Those to load, as `newestWindows` gives them. */
  readonly chosen: readonly ArchivedWindow[];
  /** As they were given. */
  readonly broken: ReadonlyMap<ArchivedWindow, Damage>;
}

/** The newest windows whose bodies are whole: where the newest is broken, the one before takes its place. */
export async function intactWindows(windows: readonly ArchivedWindow[], slice: Slice): Promise<IntactWindows> {
  const broken = new Map<ArchivedWindow, Damage>();
  const whole = new Set<string>();
  for (;;) {
    const chosen = newestWindows(
      windows.filter((window) => !broken.has(window)),
      slice,
    );
    const unseen = new Set(chosen.map(({ path }) => path).filter((path) => !whole.has(path)));
    if (unseen.size === 0) return { chosen, broken };
    for (const window of windows.filter(({ path }) => unseen.has(path))) {
      const damage = await damageOf(window);
      if (damage === null) whole.add(window.path);
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
    window: {
      slice: { ...slice, metrics },
      fingerprint,
      asked,
      replaced,
      periods,
      parts,
      attempt: 1,
      growsTo: null,
      heldParts: null,
    },
    answers: (entry.pages ?? parts.map(() => 1)).map((count, partNo, counts) => {
      const first = counts.slice(0, partNo).reduce((sum, each) => sum + each, 0);
      const pages = entry.bodies.slice(first, first + count).flatMap((body, at) =>
        // Long numbers were quoted before the answer was loaded, and it was kept as it was loaded.
        body === null ? [] : [{ ...body, path: join(path, bodyName(first + at)) }],
      );
      return { pages, unfollowed: entry.unfollowed?.[partNo] ?? null };
    }),
    whole: null,
    byYear: whole === undefined ? null : { totals: new Map(whole.totals), rows: whole.rows, values: new Map() },
    requests,
    requestedAt,
    receivedAt,
  };
}

/**
 * Of windows in the order of their fetches, those that are the newest answer for at least one of their periods, in that order
 * and each with these periods alone: no period is in two of them.
 */
export function newestWindows(windows: readonly ArchivedWindow[], slice: Slice): ArchivedWindow[] {
  const newest = new Map<string, string>();
  for (const { path, entry } of windows) {
    for (const due of entry.periods) newest.set(periodKey(due, slice), path);
  }
  return windows.flatMap((window) => narrowed(window, (due) => newest.get(periodKey(due, slice)) === window.path));
}

/** The window with the periods of it that the ledger does not hold from a later answer; none where it holds all so. */
export function withoutHeld(window: ArchivedWindow, slice: Slice, table: SliceTable | null): ArchivedWindow[] {
  const held = new Map<string, LoadedPeriod>();
  for (const period of table?.periods.values() ?? []) held.set(periodKey({ period }, slice), period);
  return narrowed(window, (due) => {
    const loaded = held.get(periodKey(due, slice));
    return loaded === undefined || !isLater(loaded, window.entry);
  });
}

/** Whether a period was loaded from a later answer; under one as-of instant, from one that was asked for later. */
function isLater({ fetchedAt, requestedAt }: LoadedPeriod, entry: ArchiveEntry): boolean {
  const laterMs = fetchedAt.getTime() - fetchedAtOf(entry).getTime();
  return laterMs > 0 || (laterMs === 0 && requestedAt > entry.requestedAt);
}

/** The window without some periods; none where it has no others. */
export function withoutPeriods(window: ArchivedWindow, gone: readonly DuePeriod[], slice: Slice): ArchivedWindow[] {
  const keys = new Set(gone.map((due) => periodKey(due, slice)));
  return narrowed(window, (due) => !keys.has(periodKey(due, slice)));
}

/** A report without a date dimension has one period, whatever days each answer covered. */
function periodKey({ period }: { readonly period: Pick<Period, 'bucket'> }, { grain }: Slice): string {
  return grain === null ? '' : period.bucket.start;
}
