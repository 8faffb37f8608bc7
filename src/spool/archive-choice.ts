/** Which archived answers to load again, so that every period ends up with its newest one. Pure. */

import type { SliceTable } from '../model/ledger.ts';
import type { Slice } from '../model/slice.ts';
import { fetchedAtOf, type ArchiveEntry } from './archive-entry.ts';

/** An entry whose sidecar is whole; its bodies were not looked at yet. */
export interface ArchivedWindow {
  /** Its directory. */
  readonly path: string;
  readonly entry: ArchiveEntry;
}

/**
 * Of windows in the order they were asked for, those that are the newest answer for at least one of their periods, in
 * that order. Loaded one after the other, they leave every period as the newest answer has it.
 */
export function newestWindows(windows: readonly ArchivedWindow[], slice: Slice): ArchivedWindow[] {
  const newest = new Map<string, ArchivedWindow>();
  for (const window of windows) for (const key of periodKeys(window.entry, slice)) newest.set(key, window);
  const chosen = new Set(newest.values());
  return windows.filter((window) => chosen.has(window));
}

/** Whether the ledger holds a later fetch of one of the entry's periods, which loading the entry would undo. */
export function isOutdated(entry: ArchiveEntry, slice: Slice, table: SliceTable | null): boolean {
  const keys = new Set(periodKeys(entry, slice));
  const fetchedAt = fetchedAtOf(entry);
  return [...(table?.periods.values() ?? [])].some(
    (loaded) => keys.has(periodKey(loaded.bucket.start, slice)) && loaded.fetchedAt > fetchedAt,
  );
}

function periodKeys(entry: ArchiveEntry, slice: Slice): string[] {
  return entry.periods.map(({ period }) => periodKey(period.bucket.start, slice));
}

/** A report without a date dimension has one period, whatever days each answer covered. */
function periodKey(startDay: string, { grain }: Slice): string {
  return grain === null ? '' : startDay;
}
