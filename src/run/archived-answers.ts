/** Which archived answers of a slice a replay may load, and what is told of the others. */

import { basename } from 'node:path';

import { asFailure, Failure } from '../errors.ts';
import { type Day, dayAt, weekdayOf, type WeekStart } from '../model/calendar.ts';
import { firstKeptDay } from '../model/coverage.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import { carries, tableOf } from '../model/ledger.ts';
import { DEFAULT_WEEK_START } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { type ArchiveContents, newestWindows, readArchive, setAside, withoutHeld } from '../spool/archive-contents.ts';
import { type ArchivedWindow, type Damage, fetchedAtOf, narrowed, SIDECAR } from '../spool/archive-entry.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { recordFailed, type Run, warn } from './run.ts';

/** Skipped windows that one warning names. */
const EXAMPLES = 5;

/** What the archive holds of a slice; null where its folder cannot be read, which fails that slice alone. */
async function contentsOf(slice: Slice, run: Run): Promise<ArchiveContents | null> {
  try {
    return await readArchive(run.warehouse.path, slice.name, new Date());
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== 'STORAGE_FAILED') throw failure;
    recordFailed(failure, slice.name, run);
    return null;
  }
}

/** What the archive holds of a slice's meaning, in the order of its fetches. */
export async function archivedOf(slice: Slice, run: Run): Promise<readonly ArchivedWindow[]> {
  const contents = await contentsOf(slice, run);
  if (contents === null) return [];
  const { windows, damages, note, unknown } = contents;
  if (note !== null) {
    recordFailed(unknownDrops(note, slice), slice.name, run);
    return [];
  }
  for (const damage of damages) recordFailed(await refusal(damage), slice.name, run);
  const lost = unknown.map((path) => basename(path));
  await skip(lost, slice, `had lost their ${SIDECAR}, which says what they answer,`, run);
  const meaning = fingerprintOf(slice);
  const others = windows.filter(({ entry }) => !carries(entry.fingerprint, meaning));
  await skip(labelsOf(others), slice, 'carried another meaning than the slice has now,', run);
  const ofSlice = windows.filter((window) => !others.includes(window));
  const weekday = slice.grain === 'week' ? await weekdayToLoad(ofSlice, slice, run) : null;
  const mine = ofSlice.filter(({ entry }) => weekday === null || weekdayOf(entry.replaced.start) === weekday);
  const otherWeeks = ofSlice.filter((window) => !mine.includes(window));
  await skip(labelsOf(otherWeeks), slice, 'had weeks that begin on another day than those of the table,', run);
  if (windows.length === 0) {
    await warn({ code: 'REPLAY_EMPTY', message: 'The archive held no answer that could be loaded.' }, slice.name, run);
  }
  return begunOf(mine, slice, run);
}

/**
 * Archived answers without the periods of days that have not begun, which a clock that was ahead asked for: nothing is known of them.
 * Where no others are there, it is this machine's clock that is wrong, and all are kept.
 */
async function begunOf(mine: readonly ArchivedWindow[], slice: Slice, run: Run): Promise<readonly ArchivedWindow[]> {
  const now = new Date();
  const today = dayAt(now, slice.utcOffset);
  const begun = mine.flatMap((window) => {
    const isAhead = window.entry.requestedAt > now || fetchedAtOf(window.entry) > now;
    return isAhead ? narrowed(window, ({ period }) => period.asked.start <= today) : [window];
  });
  if (begun.length === 0) return mine;
  const kept = startsOf(begun);
  const left = [...startsOf(mine)].filter((start) => !kept.has(start));
  if (left.length > 0) {
    const message = `${left.length} archived periods after ${today} were left in the archive: they have not begun, and were asked for by a clock that was ahead.`;
    await warn({ code: 'REPLAY_SKIPPED', message }, slice.name, run);
  }
  return begun;
}

const startsOf = (windows: readonly ArchivedWindow[]): Set<Day> =>
  new Set(windows.flatMap(({ entry }) => entry.periods.map(({ period }) => period.bucket.start)));

/**
 * The weekday that weeks begin on in the table they go to, in one that holds nothing yet on that of the newest answer. The
 * fingerprints do not tell: the first table of a meaning learns its weekday, only a later one has it in its name.
 */
async function weekdayToLoad(ofSlice: readonly ArchivedWindow[], slice: Slice, run: Run): Promise<WeekStart | null> {
  const meaning = fingerprintOf(slice);
  const table = tableOf(await readSliceLedger(run.warehouse, slice.name), meaning);
  const isKnown = table !== null && (table.periods.size > 0 || table.fingerprint !== meaning);
  if (isKnown) return table.weekStartsOn ?? DEFAULT_WEEK_START;
  const newest = ofSlice.at(-1);
  return newest === undefined ? null : weekdayOf(newest.entry.replaced.start);
}

/** Archived answers with the periods of them that the warehouse does not hold from a later one. */
export async function usefulOf(
  mine: readonly ArchivedWindow[],
  plan: Pick<SlicePlan, 'slice' | 'table' | 'weekStartsOn'>,
  run: Run,
): Promise<readonly ArchivedWindow[]> {
  const { slice, table } = plan;
  const kept = await keptOf(mine, plan, run);
  const useful = kept.flatMap((window) => withoutHeld(window, slice, table));
  const paths = new Set(useful.map(({ path }) => path));
  // That an answer gives way to a newer one of the archive is nothing to tell.
  const outdated = newestWindows(kept, slice).filter(({ path }) => !paths.has(path));
  await skip(labelsOf(outdated), slice, 'held nothing but periods that the warehouse holds from a later fetch,', run);
  return useful;
}

/**
 * Archived answers with the periods of them that `retain` kept when the newest was fetched, or at the as-of instant where that is
 * earlier: what was let go by then stays away. The machine's clock is not asked.
 */
async function keptOf(
  mine: readonly ArchivedWindow[],
  { slice, weekStartsOn }: Pick<SlicePlan, 'slice' | 'weekStartsOn'>,
  run: Run,
): Promise<readonly ArchivedWindow[]> {
  const newest = mine.at(-1);
  if (newest === undefined) return mine;
  const fetchedAt = fetchedAtOf(newest.entry);
  const at = fetchedAt < run.planAt ? fetchedAt : run.planAt;
  const first = firstKeptDay(slice, at, weekStartsOn);
  if (first === null) return mine;
  const left = [...startsOf(mine)].filter((start) => start < first);
  if (left.length > 0) {
    const message = `${left.length} archived periods before ${first} were left in the archive: by ${dayAt(at, slice.utcOffset)}, \`retain\` had let them go.`;
    await warn({ code: 'REPLAY_SKIPPED', message }, slice.name, run);
  }
  return mine.flatMap((window) => narrowed(window, ({ period }) => period.bucket.start >= first));
}

/** The failure to record of a corrupt or foreign file, which is set aside; of one that is newer or not given by the disk, which is left. */
export async function refusal({ path, because, isUnread, isNewer }: Damage): Promise<Failure> {
  const name = basename(path);
  if (isNewer === true) {
    const hint = 'Use the version of ripen that wrote it, or a newer one.';
    return new Failure('STORAGE_FAILED', `${name} in the archive could not be loaded: ${because}.`, {
      facts: { path },
      hint,
    });
  }
  if (isUnread === true) {
    const hint = 'Check permissions and the disk of the archive beside the warehouse, and run `ripen replay` again.';
    return new Failure('STORAGE_FAILED', `${name} in the archive could not be read: ${because}.`, {
      facts: { path },
      hint,
    });
  }
  const aside = await setAside(path).catch(asFailure);
  const isAside = typeof aside === 'string';
  if (!isAside && aside.code !== 'STORAGE_FAILED') return aside;
  const fate = isAside ? `It was set aside as ${aside}` : `It could not be set aside and stayed where it was`;
  return new Failure('DATA_MALFORMED', `${name} in the archive could not be loaded: ${because}. ${fate}.`, {
    facts: { path: isAside ? aside : path },
    hint: 'Run `ripen sync`, and backfill the days it does not ask for again.',
    ...(isAside ? {} : { cause: aside }),
  });
}

/** The failure of a slice of which nobody knows what was dropped: its answers would bring all of it back. */
function unknownDrops({ path, because }: Damage, slice: Slice): Failure {
  const message = `Nothing of the archive of slice ${slice.name} was loaded, as nobody knows what was dropped of it: in ${basename(path)}, ${because}.`;
  const hint = `Run \`ripen drop --slice ${slice.name} --before DAY\` with the day of the last drop, which writes it anew; or remove the file, to load what was dropped, too.`;
  return new Failure('DATA_MALFORMED', message, { facts: { path }, hint });
}

const labelsOf = (windows: readonly ArchivedWindow[]): string[] => windows.map(({ entry }) => labelOf(entry));

async function skip(answers: readonly string[], slice: Slice, because: string, run: Run): Promise<void> {
  if (answers.length === 0) return;
  const rest = answers.length > EXAMPLES ? ` and ${answers.length - EXAMPLES} more` : '';
  const named = answers.slice(0, EXAMPLES).join(', ');
  const message = `${answers.length} archived answers ${because} and were skipped: ${named}${rest}.`;
  await warn({ code: 'REPLAY_SKIPPED', message }, slice.name, run);
}
