/** Chooses what a replay loads: the newest whole answer of each period, unless the warehouse has it from a later fetch. */

import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { ageIn } from '../model/cube.ts';
import { storedAt, type SliceTable } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { windowOf } from '../model/window.ts';
import { type Answer, MAX_DOUBTS, Measuring, type Spooled } from './spool.ts';
import {
  type ArchivedWindow,
  type ArchiveEntry,
  bodyName,
  type Damage,
  fetchedAtOf,
} from './archive-entry.ts';

/**
 * Returns what to load into a table (null: a new one) from entries in the order of their fetches: the newest whole answer of
 * every period, and the damaged entries it met. No period is in two of them under one age. Reads all bytes of what it returns.
 */
export async function newestWhole(
  entries: readonly ArchivedWindow[],
  slice: Slice,
  table: SliceTable | null,
): Promise<{ readonly windows: readonly ArchivedWindow[]; readonly damages: readonly Damage[] }> {
  const taken = new Set<string>();
  const windows: ArchivedWindow[] = [];
  const damages: Damage[] = [];
  for (const { path, entry } of entries.toReversed()) {
    const isUseful = (cell: Cell): boolean =>
      !taken.has(keyOf(cell, slice)) && !isStoredLater(cell, slice, table, entry);
    const useful = usefulParts(entry, slice, isUseful);
    if (useful.length === 0) continue;
    const because = await damageOf({ path, entry });
    if (because !== null) {
      damages.push({ path, because });
      continue;
    }
    for (const { ages, periods } of useful) {
      const metrics = entry.metrics.filter((metric) => ages.includes(ageIn(slice)(metric)));
      windows.unshift({ path, entry: { ...entry, metrics, periods } });
      for (const age of ages)
        for (const { period } of periods) taken.add(keyOf({ age, period }, slice));
    }
  }
  return { windows, damages };
}

/** A period under an age; the age is empty unless the slice is a cube. */
interface Cell {
  readonly age: string;
  readonly period: Pick<Period, 'bucket'>;
}

/** The key of a cell. A report without a date dimension has one period, whatever days each answer covered. */
const keyOf = ({ age, period }: Cell, { grain }: Slice): string =>
  `${grain === null ? '' : period.bucket.start} ${age}`;

interface Part {
  readonly ages: readonly string[];
  readonly periods: ArchiveEntry['periods'];
}

/** The periods of an entry to load; for a cube grouped by the ages to load. */
function usefulParts(entry: ArchiveEntry, slice: Slice, isUseful: (cell: Cell) => boolean): Part[] {
  const isCube = slice.cube !== undefined;
  const wanted = [...new Set(entry.metrics.map(ageIn(slice)))].filter(
    (age) => (age !== '') === isCube,
  );
  const parts = new Map<string, Part>();
  for (const due of entry.periods) {
    const ages = wanted.filter((age) => isUseful({ age, period: due.period }));
    if (ages.length === 0) continue;
    const part = parts.get(ages.join()) ?? { ages, periods: [] };
    parts.set(ages.join(), part);
    part.periods.push(due);
  }
  return [...parts.values()];
}

/** Whether a table stores a cell from a later fetch, or from a later request if both fetches count as the same instant. */
function isStoredLater(
  { age, period }: Cell,
  { grain }: Slice,
  table: SliceTable | null,
  entry: ArchiveEntry,
): boolean {
  const stored =
    grain === null
      ? [...(table?.periods.values() ?? [])].at(-1)
      : storedAt(table, age, period.bucket.start);
  if (stored === undefined) return false;
  const laterMs = stored.fetchedAt.getTime() - fetchedAtOf(entry).getTime();
  return laterMs > 0 || (laterMs === 0 && stored.requestedAt > entry.requestedAt);
}

async function damageOf({ path, entry }: ArchivedWindow): Promise<string | null> {
  try {
    for (const { no, bytes, sha256 } of entry.answers.flatMap(({ bodies }) => bodies)) {
      const name = bodyName(no);
      const found = await lstat(join(path, name));
      if (!found.isFile()) return `its ${name} was no file`;
      if (found.size !== bytes) return `its ${name} had ${found.size} bytes, not ${bytes}`;
      const measuring = new Measuring();
      measuring.resume();
      await pipeline(createReadStream(join(path, name)), measuring);
      if (measuring.measured().sha256 !== sha256) return `its ${name} did not match its checksum`;
    }
    return null;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return error.message;
    throw error;
  }
}

/** Returns the answers as they were spooled. Their pages are the archive's own files, so the caller must not discard them. */
export function spooledFrom({ path, entry }: ArchivedWindow, slice: Slice): Spooled {
  const { fingerprint, metrics, requested, replaced, periods, parts } = entry;
  const answers = entry.answers.map((archived, at): Answer => {
    const { partNo, bodies, unfollowed } = archived;
    const batchNo = entry.answers.slice(0, at).filter((other) => other.partNo === partNo).length;
    // Long numbers are already quoted: the archive keeps an answer as it was loaded.
    const pages = bodies.map(({ no, ...body }) =>
      Object.assign(body, { path: join(path, bodyName(no)) }),
    );
    return {
      box: {
        part: parts[partNo] ?? {},
        partNo,
        metrics: archived.metrics,
        batchNo,
        control: null,
      },
      pages,
      unfollowed,
      requests: Math.max(1, pages.length),
      requestedAt: entry.requestedAt,
      receivedAt: entry.receivedAt,
    };
  });
  return {
    // These days are those of all the entry's periods; a newer answer may replace some of them.
    window: {
      ...windowOf({ ...slice, metrics }, fingerprint, periods, parts),
      requested,
      replaced,
    },
    // The service cannot be asked again; archived answers were accepted when they were loaded.
    doubts: MAX_DOUBTS + 1,
    isConfirmation: true,
    isIndivisible: true,
    round: null,
    answers,
    controlFailure: null,
  };
}
