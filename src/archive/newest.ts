/** Which archived answers a replay loads: of each period the newest whole one, unless the warehouse holds it from a later fetch. */

import { join } from 'node:path';

import { ageIn } from '../model/cube.ts';
import { heldAt, type LoadedPeriod, type SliceTable } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { windowOf } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { type ArchivedWindow, type ArchiveEntry, bodyName, type Damage, fetchedAtOf } from './entry.ts';
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
  const taken = new Set<string>();
  const windows: ArchivedWindow[] = [];
  const damages: Damage[] = [];
  for (const entry of entries.toReversed()) {
    const useful = usefulParts(entry, slice, (age, period) => {
      const isTaken = taken.has(cellKey(age, period, slice));
      return !isTaken && !isLater(heldOf(table, age, period, slice), entry.entry);
    });
    if (useful.length === 0) continue;
    const because = await damageOf(entry);
    if (because !== null) {
      damages.push({ path: entry.path, because });
      continue;
    }
    windows.unshift(...useful);
    for (const { entry: part } of useful) {
      for (const age of agesIn(part, slice)) {
        for (const { period } of part.periods) taken.add(cellKey(age, period, slice));
      }
    }
  }
  return { windows, damages };
}

type ArchivedPeriod = Pick<Period, 'bucket'>;

/** The ages of a cube that an entry has and the slice still wants; that of any other slice is empty. */
const agesIn = ({ metrics }: ArchiveEntry, slice: Slice): string[] =>
  [...new Set(metrics.map(ageIn(slice)))].filter((age) => (age === '') === (slice.cube === undefined));

/** The periods of an entry to load, those of a cube by the ages that are to be loaded of them. */
function usefulParts(
  { path, entry }: ArchivedWindow,
  slice: Slice,
  isUseful: (age: string, period: ArchivedPeriod) => boolean,
): ArchivedWindow[] {
  const parts = new Map<string, { readonly ages: readonly string[]; readonly periods: ArchiveEntry['periods'] }>();
  for (const due of entry.periods) {
    const ages = agesIn(entry, slice).filter((age) => isUseful(age, due.period));
    if (ages.length === 0) continue;
    const part = parts.get(ages.join());
    if (part === undefined) parts.set(ages.join(), { ages, periods: [due] });
    else part.periods.push(due);
  }
  const ageOf = ageIn(slice);
  return [...parts.values()].map(({ ages, periods }) => {
    return {
      path,
      entry: { ...entry, periods, metrics: entry.metrics.filter((metric) => ages.includes(ageOf(metric))) },
    };
  });
}

/** What a table holds of a cell; a report without a date dimension has one period, whatever days each answer covered. */
function heldOf(
  table: SliceTable | null,
  age: string,
  { bucket }: ArchivedPeriod,
  { grain }: Slice,
): LoadedPeriod | undefined {
  if (grain === null) return [...(table?.periods.values() ?? [])].at(-1);
  return heldAt(table, age, bucket.start);
}

const cellKey = (age: string, { bucket }: ArchivedPeriod, { grain }: Slice): string =>
  `${grain === null ? '' : bucket.start} ${age}`;

/** Whether a period was loaded from a later answer; under one as-of instant, from one that was requested later. */
function isLater(held: LoadedPeriod | undefined, entry: ArchiveEntry): boolean {
  if (held === undefined) return false;
  const laterMs = held.fetchedAt.getTime() - fetchedAtOf(entry).getTime();
  return laterMs > 0 || (laterMs === 0 && held.requestedAt > entry.requestedAt);
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
    answers: entry.answers.map((answer, answerNo) => {
      const first = entry.answers.slice(0, answerNo).reduce((sum, each) => sum + each.pages, 0);
      const pages = entry.bodies.slice(first, first + answer.pages).flatMap((body, at) =>
        // Long numbers were quoted before the answer was loaded, and it was kept as it was loaded.
        body === null ? [] : [{ ...body, path: join(path, bodyName(first + at)) }],
      );
      return { ...answer, pages };
    }),
    whole: null,
    requests,
    requestedAt,
    receivedAt,
  };
}
