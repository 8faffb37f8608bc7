/** Which archived answers a replay loads: of each period the newest whole one, unless the warehouse holds it from a later fetch. */

import { join } from 'node:path';

import type { LoadedPeriod, SliceTable } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { windowOf } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { type ArchivedWindow, type ArchiveEntry, bodyName, type Damage, fetchedAtOf, narrowed } from './entry.ts';
import { measureFile } from './files.ts';

/** What a replay loads of a slice. */
export interface Newest {
  /** Each with the periods it is loaded for, in the order of their fetches; no period is in two of them. */
  readonly windows: readonly ArchivedWindow[];
  /** Of entries that would have been loaded. */
  readonly damages: readonly Damage[];
}

/** Of entries in the order of their fetches, what to load into a table; null: a new one. Reads the bytes of what it takes. */
export async function newestWhole(
  entries: readonly ArchivedWindow[],
  slice: Slice,
  table: SliceTable | null,
): Promise<Newest> {
  const held = new Map<string, LoadedPeriod>();
  for (const period of table?.periods.values() ?? []) held.set(periodKey({ period }, slice), period);
  const taken = new Set<string>();
  const windows: ArchivedWindow[] = [];
  const damages: Damage[] = [];
  for (const entry of entries.toReversed()) {
    const [useful] = narrowed(entry, (due) => {
      const key = periodKey(due, slice);
      return !taken.has(key) && !isLater(held.get(key), entry.entry);
    });
    if (useful === undefined) continue;
    const because = await damageOf(entry);
    if (because !== null) {
      damages.push({ path: entry.path, because });
      continue;
    }
    windows.unshift(useful);
    for (const due of useful.entry.periods) taken.add(periodKey(due, slice));
  }
  return { windows, damages };
}

/** Whether a period was loaded from a later answer; under one as-of instant, from one that was requested later. */
function isLater(held: LoadedPeriod | undefined, entry: ArchiveEntry): boolean {
  if (held === undefined) return false;
  const laterMs = held.fetchedAt.getTime() - fetchedAtOf(entry).getTime();
  return laterMs > 0 || (laterMs === 0 && held.requestedAt > entry.requestedAt);
}

/** A report without a date dimension has one period, whatever days each answer covered. */
function periodKey({ period }: { readonly period: Pick<Period, 'bucket'> }, { grain }: Slice): string {
  return grain === null ? '' : period.bucket.start;
}

/** What is wrong with an entry's bodies; null when every byte is as it was written. */
async function damageOf({ path, entry }: ArchivedWindow): Promise<string | null> {
  try {
    for (const [bodyNo, body] of entry.bodies.entries()) {
      if (body === null) continue;
      const name = bodyName(bodyNo);
      const found = await measureFile(join(path, name));
      if (found === null) return `its ${name} was missing`;
      if (found.bytes !== body.bytes) return `its ${name} had ${found.bytes} bytes, not ${body.bytes}`;
      if (found.sha256 !== body.sha256) return `its ${name} did not match its checksum`;
    }
    return null;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return error.message;
    throw error;
  }
}

/** The answer as it was spooled, read from where it lies: whoever gets it must not discard it. */
export function spooledFrom({ path, entry }: ArchivedWindow, slice: Slice): Spooled {
  const { fingerprint, metrics, asked, replaced, periods, parts, requests, requestedAt, receivedAt } = entry;
  return {
    // The days of all its periods; a newer answer may replace some of them.
    window: { ...windowOf({ ...slice, metrics }, fingerprint, periods, parts), asked, replaced },
    // Nobody can be asked again: whatever was archived had been believed.
    attempt: 1,
    answers: entry.pages.map((count, partNo) => {
      const first = entry.pages.slice(0, partNo).reduce((sum, each) => sum + each, 0);
      const pages = entry.bodies.slice(first, first + count).flatMap((body, at) =>
        // Long numbers were quoted before the answer was loaded, and it was kept as it was loaded.
        body === null ? [] : [{ ...body, path: join(path, bodyName(first + at)) }],
      );
      return { pages, unfollowed: entry.unfollowed[partNo] ?? null };
    }),
    whole: null,
    requests,
    requestedAt,
    receivedAt,
  };
}
