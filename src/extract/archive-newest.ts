/** Chooses what a replay loads: the newest whole answer of each period, unless the warehouse has a later one. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';

import { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import { ageIn } from '../model/cube.ts';
import { storedAt, type SliceTable } from '../model/ledger.ts';
import type { Slice } from '../model/slice.ts';
import { windowOf } from '../model/window.ts';
import {
  type ArchivedWindow,
  type ArchiveEntry,
  bodyName,
  type Damage,
  fetchedAtOf,
  systemMessage,
} from './archive.ts';
import { type Answer, MAX_DOUBTS, type Spooled } from './spool.ts';

export interface ReplayedWindow {
  readonly spooled: Spooled;
  readonly asOf: Date | null;
  /** What it lacks that the warehouse no longer has either. */
  readonly lacking: ArchiveEntry['kept'];
}

/**
 * Returns the newest whole answer of every period from a day on, and the damaged entries it met. No period is in two windows
 * under one age. Reads all bytes of what it returns.
 */
export async function newestWhole(
  entries: readonly ArchivedWindow[],
  slice: Slice,
  table: SliceTable | null,
  firstDay: Day | null,
) {
  const { grain } = slice;
  const ageOf = ageIn(slice);
  // Without a date dimension there is one period, whatever days each answer covered.
  const startOf = ({ period }: ArchiveEntry['periods'][number]) =>
    grain === null ? '' : period.bucket.start;
  const taken = new Set<string>();
  const windows: ReplayedWindow[] = [];
  const damages: Damage[] = [];
  for (const { path, entry } of entries.toReversed()) {
    const ages = [...new Set(entry.metrics.map(ageOf))].filter(
      (age) => (age !== '') === (slice.cube !== undefined),
    );
    const useful = new Map<string, { ages: string[]; periods: ArchiveEntry['periods'] }>();
    for (const due of entry.periods) {
      const { bucket } = due.period;
      const dueAges = ages.filter((age) => {
        const stored =
          grain === null
            ? [...(table?.periods.values() ?? [])].at(-1)
            : storedAt(table, age, bucket.start);
        // Of fetches that count as the same instant, the later request.
        const laterMs = (stored?.fetchedAt.getTime() ?? -Infinity) - fetchedAtOf(entry).getTime();
        const isLater =
          laterMs === 0 && stored !== undefined && stored.requestedAt > entry.requestedAt;
        return laterMs <= 0 && !isLater && !taken.has(`${startOf(due)} ${age}`);
      });
      if (dueAges.length === 0 || (firstDay !== null && bucket.start < firstDay)) continue;
      const alike = useful.get(dueAges.join()) ?? { ages: dueAges, periods: [] };
      useful.set(dueAges.join(), alike);
      alike.periods.push(due);
    }
    if (useful.size === 0) continue;
    const because = await damageOf({ path, entry }).catch(systemMessage);
    if (because !== null) {
      damages.push({ path, because });
      continue;
    }
    for (const { ages: chosen, periods } of useful.values()) {
      const metrics = entry.metrics.filter((metric) => chosen.includes(ageOf(metric)));
      const spooled = spooledFrom({ path, entry }, { ...slice, metrics }, periods);
      const starts = new Set(periods.map(({ period }) => period.bucket.start));
      const lacking = entry.kept.filter(
        ({ start }) => starts.has(start) && table?.periods.has(start) !== true,
      );
      windows.unshift({ spooled, asOf: entry.asOf, lacking });
      for (const due of periods) for (const age of chosen) taken.add(`${startOf(due)} ${age}`);
    }
  }
  return { windows, damages };
}

async function damageOf({ path, entry }: ArchivedWindow): Promise<string | null> {
  for (const { no, bytes, sha256 } of entry.answers.flatMap(({ bodies }) => bodies)) {
    const name = bodyName(no);
    const file = await lstat(join(path, name));
    if (!file.isFile()) return `its ${name} was no file`;
    if (file.size !== bytes) return `its ${name} had ${file.size} bytes, not ${bytes}`;
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(path, name))) hash.update(chunk);
    if (hash.digest('hex') !== sha256) return `its ${name} did not match its checksum`;
  }
  return null;
}

/** The pages are the archive's own files, which must not be discarded. */
function spooledFrom(
  { path, entry }: ArchivedWindow,
  slice: Slice,
  periods: ArchiveEntry['periods'],
): Spooled {
  const { fingerprint, requested, replaced, parts, requestedAt, receivedAt } = entry;
  const batches = new Map<number, number>();
  const answers = entry.answers.map(({ partNo, metrics, bodies, unfollowed }): Answer => {
    const batchNo = batches.get(partNo) ?? 0;
    batches.set(partNo, batchNo + 1);
    return {
      box: { part: parts[partNo] ?? {}, partNo, metrics, batchNo, control: null },
      pages: bodies.map(({ no, bytes, plainBytes }) => {
        return { path: join(path, bodyName(no)), encoding: 'gzip', bytes, plainBytes };
      }),
      unfollowed,
      requests: Math.max(1, bodies.length),
      requestedAt,
      receivedAt,
    };
  });
  return {
    // These days are those of all the entry's periods, some of which a newer answer may replace.
    window: { ...windowOf(slice, fingerprint, periods, parts), requested, replaced },
    // The service cannot be asked again, and archived answers were accepted when they were loaded.
    doubts: MAX_DOUBTS + 1,
    isConfirmation: true,
    isIndivisible: true,
    round: null,
    answers,
    controlFailure: entry.isUnproven
      ? new Failure('DATA_INCOMPLETE', 'they were not proven complete when they were loaded')
      : null,
  };
}
