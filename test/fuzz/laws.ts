/**
 * What holds after every night, whatever the service, the operator and the calendar did. Each law compares what is
 * stored with what the world said or will say, never with the ledger alone; each returns what it found broken.
 */

import type { SyncSummary } from '../../src/run/summary.ts';
import { calm, isOneOf, saidOn, type TinyNight } from '../support/tiny-service.ts';
import { dayNumber, dayText, isOfAge, offsetMs, tinyMetrics, type TinyReport } from '../support/tiny-world.ts';
import { coveredOn, dimensionsOf, meaningOf, type NightRun, type SliceChoice } from './sequence.ts';
import {
  comparableDate,
  comparableNumber,
  type Stored,
  type StoredPeriod,
  type StoredRow,
  type StoredWarning,
} from './stored.ts';

/** A night that was run: how the world was asked, what the operator had configured, and what came of it. */
export interface RunNight {
  readonly night: TinyNight;
  readonly slice: SliceChoice;
  /** The day before which the slice's periods were dropped before this run; Infinity for all, null for none. */
  readonly droppedBefore: number | null;
  readonly run: NightRun;
  readonly summary: SyncSummary;
  readonly stored: Stored;
}

/** A law that did not hold, and where. */
export class LawBroken extends Error {
  override readonly name = 'LawBroken';
  readonly law: string;

  constructor(law: string, night: number, broken: readonly string[]) {
    super(`law ${law}, night ${night + 1}: ${broken.slice(0, 4).join('; ')}`);
    this.law = law;
  }
}

/** What happened so far, the newest night last. */
export interface Told {
  readonly start: string;
  readonly nights: readonly RunNight[];
}

export type Law = (told: Told) => readonly string[];

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** No horizon is longer (the age of 60 days of a cohort), and an hour to settle. */
export const LONGEST_DAYS = 61;

type Rows = ReadonlyMap<string, StoredRow>;

const dateNames = new Set(['hour', 'day', 'week', 'month', 'quarter', 'year']);

const keyOf = (row: StoredRow, dimensions: readonly string[]): string =>
  JSON.stringify(dimensions.map((name) => row.get(name) ?? null));

/**
 * Rows that were said, in the form in which they are stored: without those with a text for a number. A zero of what may be
 * withheld is no value.
 */
function asStored(
  said: TinyReport,
  slice: SliceChoice,
  { columns }: Stored,
  isWithheld: (metric: string) => boolean = () => false,
): Rows {
  const dimensions = dimensionsOf(slice);
  const sound = said.rows.filter((row) => slice.metrics.every((name) => !Number.isNaN(Number(row[name] ?? 0))));
  const rows = sound.map((row): StoredRow => {
    const cells = dimensions.map((name): [string, string | null] => {
      const label = row[name];
      if (typeof label !== 'string') return [name, null];
      return [name, dateNames.has(name) ? comparableDate(name, label) : label];
    });
    const values = slice.metrics.map((name): [string, string | null] => {
      const value = comparableNumber(row[name], columns.get(name) ?? '');
      return [name, value === '0' && isWithheld(name) ? null : value];
    });
    return new Map([...cells, ...values]);
  });
  return new Map(rows.map((row) => [keyOf(row, dimensions), row]));
}

function parametersOf(slice: SliceChoice, { askedStart, askedEnd }: StoredPeriod): Readonly<Record<string, string>> {
  const last = dayText(dayNumber(askedEnd) - 1);
  return { ...meaningOf(slice), metrics: slice.metrics.join(','), date_period: `${askedStart}:${last}` };
}

/** The stored rows of a period, by their date. */
function rowsIn(rows: readonly StoredRow[], { start, end }: StoredPeriod, { grain }: SliceChoice): StoredRow[] {
  if (grain === 'none') return [...rows];
  return rows.filter((row) => {
    const day = (row.get(grain) ?? '').slice(0, 10);
    return start <= day && day < end;
  });
}

const newest = ({ nights }: Told): RunNight => {
  const last = nights.at(-1);
  if (last === undefined) throw new RangeError('No night was run.');
  return last;
};

/**
 * What is broken of a period by what was said on the night it says it was fetched on; null where there is none. Of nights at
 * one instant it may be any: what the last of them was refused, it has from the one before.
 */
function judged(
  period: StoredPeriod,
  { nights }: Told,
  judge: (of: RunNight) => readonly string[],
): { readonly of: RunNight; readonly broken: readonly string[] } | null {
  const each = nights
    .filter(({ night }) => night.nowMs === period.fetchedMs)
    .map((of) => ({ of, broken: judge(of) }))
    .toReversed();
  return each.toSorted((one, other) => one.broken.length - other.broken.length)[0] ?? null;
}

const labelOf = ({ start, end }: StoredPeriod): string => `${start}..${end}`;

/** a. Every stored value is exactly what the service stated when it was fetched, and one table has one meaning. */
const storedAsStated: Law = (told) => {
  const { stored } = newest(told);
  const broken: string[] = [];
  const meanings = new Set<string>();
  let placed = 0;
  for (const period of stored.periods) {
    const verdict = judged(period, told, (of) => {
      const { slice, night } = of;
      const said = asStored(saidOn(night, parametersOf(slice, period)), slice, stored, (name) =>
        mayBeWithheld(name, period, of),
      );
      const rows = rowsIn(stored.rows, period, slice);
      const found = new Map(rows.map((row) => [keyOf(row, dimensionsOf(slice)), row]));
      const expected = new Map(
        [...said].filter(([key, row]) => found.has(key) || !(mayBeHidden(row, of) || isNowhere(row, slice, told))),
      );
      return [
        ...(found.size < rows.length ? ['holds a key twice'] : []),
        ...differences(found, expected, slice, stored),
      ];
    });
    if (verdict === null) {
      broken.push(`${labelOf(period)} was fetched at no night`);
      continue;
    }
    const { slice } = verdict.of;
    meanings.add(JSON.stringify(meaningOf({ ...slice, texts: [...slice.texts].sort() })));
    placed += rowsIn(stored.rows, period, slice).length;
    broken.push(...verdict.broken.map((text) => `${labelOf(period)} ${text}`));
  }
  if (placed < stored.rows.length) broken.push(`${stored.rows.length - placed} rows lie in no period`);
  if (meanings.size > 1) broken.push(`one table mixes ${meanings.size} meanings`);
  return broken;
};

/** Whether a slice asks only for cohorts that reached an age, and some of a period had not. */
function mayBeWithheld(name: string, { askedEnd }: StoredPeriod, { slice, night }: RunNight): boolean {
  const metric = tinyMetrics.find(({ id }) => id === name);
  return (
    slice.maturity !== 'immature' && metric !== undefined && !isOfAge(metric, night.nowMs - endMs(askedEnd, slice))
  );
}

/** Counts and spend: whoever asks for one of these and is stated its total knows how much the rows should add up to. */
const evidence = new Set(['installs', 'clicks', 'cost', 'skad_installs', 'cohort_size_d7']);

const isCutInSilence = ({ night: { mood } }: RunNight): boolean => mood.cap?.warns === false;

/** Whether a row could be cut off in silence, or lie on a page nobody can ask for, without any stated total telling. */
function mayBeHidden(row: StoredRow, run: RunNight): boolean {
  const { totals, pages, odd } = run.night.mood;
  if (pages?.style === 'cursor' && isAllZero(row, run.slice)) return true;
  const isStated = totals !== 'missing' && totals !== 'some missing';
  // Of a metric that holds texts the total says nothing.
  const sound = odd === null ? run.slice.metrics : run.slice.metrics.slice(1);
  const tells = sound.some((name) => evidence.has(name) && Number(row.get(name) ?? 0) !== 0);
  return isCutInSilence(run) && !(isStated && tells);
}

/**
 * Whether a row may lie in no part of a period, and add nothing to a sum: no filter finds its NULL. Into which parts a period
 * had to be divided is remembered.
 */
function isNowhere(row: StoredRow, slice: SliceChoice, { nights }: Told): boolean {
  const isDivided = nights.some(({ night: { mood } }) => mood.cap !== null || mood.maxRows !== null);
  const isUnfiltered = slice.texts.some((name) => row.get(name) === null);
  return isDivided && isUnfiltered && isAllZero(row, slice);
}

const isAllZero = (row: StoredRow, { metrics }: SliceChoice): boolean =>
  metrics.every((name) => Number(row.get(name) ?? 0) === 0);

/** Columns that the fetch did not ask for hold nothing. */
function differences(found: Rows, said: Rows, slice: SliceChoice, { columns }: Stored): string[] {
  const own = new Set([...dimensionsOf(slice), 'attr_dependency', '_extra', '_load_id']);
  const metrics = [...columns].filter(([name]) => !own.has(name));
  const lost = [...said.keys()].filter((key) => !found.has(key));
  const made = [...found.keys()].filter((key) => !said.has(key));
  const wrong = [...found].flatMap(([key, row]) =>
    metrics.flatMap(([name, type]) => {
      const stated = said.get(key)?.get(name) ?? null;
      const has = comparableNumber(row.get(name), type);
      return !said.has(key) || has === stated ? [] : [`${name} of ${key} is ${has}, was stated as ${stated}`];
    }),
  );
  return [
    ...(lost.length === 0 ? [] : [`lacks ${lost.length} of ${said.size} rows that were said, ${lost[0]}`]),
    ...(made.length === 0 ? [] : [`holds ${made.length} rows that were not said, ${made[0]}`]),
    ...wrong.slice(0, 1),
  ];
}

function daysOf({ askedStart, askedEnd }: StoredPeriod): number[] {
  const first = dayNumber(askedStart);
  return Array.from({ length: dayNumber(askedEnd) - first }, (_, nth) => first + nth);
}

const heldDays = ({ stored }: RunNight): ReadonlySet<number> => new Set(stored.periods.flatMap((each) => daysOf(each)));

/** Whether a slice was served without dates: its one period moves, and leaves no day behind. */
const isDateless = ({ stored: { columns } }: RunNight): boolean =>
  columns.size > 0 && ![...columns.keys()].some((name) => dateNames.has(name));

/** Whether a slice lost its date and is refused for it: what it has would have no place without one. */
export const isRefused = (run: RunNight): boolean =>
  run.slice.grain === 'none' && !isDateless(run) && run.summary.failures.some(({ code }) => code === 'CONFIG_INVALID');

/** Every day that was loaded at some night, without what was dropped since. */
function everHeld({ nights }: Told): ReadonlySet<number> {
  let ever = new Set<number>();
  for (const night of nights) {
    const { droppedBefore } = night;
    if (droppedBefore !== null) ever = new Set([...ever].filter((day) => day >= droppedBefore));
    if (isDateless(night)) ever = new Set();
    else for (const day of heldDays(night)) ever.add(day);
  }
  return ever;
}

/** The civil day of a night, in the offset of the slice. */
const todayOf = ({ night, slice }: RunNight): number => Math.floor((night.nowMs + offsetMs(slice.offset)) / DAY_MS);

/** Days that `retain` may have let go. */
const isRetained = (day: number, run: RunNight): boolean =>
  run.slice.retainDays === null || day >= todayOf(run) - run.slice.retainDays;

/** b. A day that was ever loaded is still there, unless `retain` let it go or somebody dropped it. */
const nothingLost: Law = (told) => {
  const run = newest(told);
  if (isDateless(run)) return [];
  const held = heldDays(run);
  const wasRetained = (day: number): boolean => told.nights.every((each) => isRetained(day, each));
  const lost = [...everHeld(told)].filter((day) => !held.has(day) && wasRetained(day));
  return lost.length === 0
    ? []
    : [`${lost.length} days that were loaded are gone, ${dayText(Math.min(...lost))} first`];
};

/**
 * Whether a period was without traffic on so many answered nights that nobody could know better: a day on two, a longer
 * period on one, as a single day of it that says nothing only makes its sums smaller.
 */
function seemedEmpty(period: StoredPeriod, { nights }: Told): boolean {
  const days = daysOf(period);
  const least = days.length > 1 ? 1 : 2;
  return days.some(
    (day) =>
      nights.filter(({ night: { mood, nowMs }, slice }) => {
        // Of a day that went on, an answer says nothing.
        const isOver = least === 1 || nowMs >= endMs(dayText(day + 1), slice);
        return isOver && mood.empty !== null && isOneOf(mood.empty, day);
      }).length >= least,
  );
}

/** The world of a night whose weeks go on to begin as they did then: under others, no row of a week is the same. */
function weeksOf({ world, nowMs }: TinyNight): TinyNight['world'] {
  const isOther = world.otherWeekFrom !== null && nowMs >= world.otherWeekFrom;
  return { ...world, weekStart: isOther === (world.weekStart === 1) ? 0 : 1, otherWeekFrom: null };
}

/** c. Whatever is called final is what the service says for ever. */
const finalIsFinal: Law = (told) => {
  const { stored, slice: current } = newest(told);
  return stored.periods.flatMap((period) => {
    if (seemedEmpty(period, told)) return [];
    const verdict = judged(period, told, (of) => {
      if (isCutInSilence(of)) return [];
      const { slice, night } = of;
      const forEver = { ...calm, precise: night.mood.precise };
      const later = { world: weeksOf(night), mood: forEver, nowMs: night.nowMs + 10_000 * DAY_MS };
      const truth = asStored(saidOn(later, parametersOf(slice, period)), slice, stored);
      const rows = rowsIn(stored.finalRows, period, slice);
      const shown = new Map(rows.map((row) => [keyOf(row, dimensionsOf(slice)), row]));
      return current.metrics.flatMap((name) => {
        const type = stored.columns.get(name) ?? '';
        const isFinal = period.final.has(name);
        const wrong = [...new Set([...shown.keys(), ...truth.keys()])].filter((key) => {
          const forever = truth.get(key);
          if (!shown.has(key) && forever !== undefined && isNowhere(forever, slice, told)) return false;
          const expected = isFinal ? (forever?.get(name) ?? null) : null;
          return comparableNumber(shown.get(key)?.get(name), type) !== expected;
        });
        const [first] = wrong;
        if (first === undefined) return [];
        const [has, will] = [shown, truth].map((each) => each.get(first)?.get(name) ?? null);
        const what = isFinal ? 'is called final' : 'is not final and shown';
        return [`${labelOf(period)} ${name} ${what}: ${first} has ${has}, for ever ${will} (${wrong.length} cells)`];
      });
    });
    return verdict?.broken ?? [];
  });
};

/** d. Long after every horizon all that was configured is there, and final or told as what it is. */
export const everythingSettles: Law = (told) => {
  const run = newest(told);
  if (isRefused(run)) return [];
  const { stored, night, slice, summary } = run;
  const unsettled = stored.periods
    .filter(({ end }) => endMs(end, slice) + LONGEST_DAYS * DAY_MS + 2 * HOUR_MS <= night.nowMs)
    // The newest of a slice stays past its time while nothing newer can be loaded.
    .filter((period) => daysOf(period).some((day) => isRetained(day, run)))
    .filter((period) => {
      const isCut = period.askedStart !== period.start || period.askedEnd !== period.end;
      const isSettled = isCut ? period.state === 'cut' : period.state === 'final' || period.state === 'empty';
      // The one period of a slice without dates moves with the nights: any failure of the slice names it.
      if (!isCut && slice.grain === 'none' && summary.failures.length > 0) return false;
      return !isSettled && !isNamed(period, run);
    });
  const [first] = unsettled;
  const open =
    first === undefined ? [] : [`${unsettled.length} old periods are not settled, ${labelOf(first)} is ${first.state}`];
  return [...open, ...uncovered(told)];
};

/** Days of the coverage that are not there: from the first ever loaded, or the date period's, to the date period's end. */
function uncovered(told: Told): string[] {
  const run = newest(told);
  if (run.slice.grain === 'none') return [];
  const today = todayOf(run);
  const { first, end } = coveredOn(run.slice, told.start, today);
  const held = heldDays(run);
  const ever = [...everHeld(told)];
  const from = Math.min(first, ...ever);
  const until = Math.min(today + 1, Math.max(end, ...ever.map((day) => day + 1)));
  // A night that is planned for an instant before the last leaves what was fetched since as it is, cut or not.
  const isNewer = (day: number): boolean =>
    run.stored.periods.some(
      ({ start, end, fetchedMs }) => fetchedMs > run.night.nowMs && dayNumber(start) <= day && day < dayNumber(end),
    );
  // What `retain` let go once does not come back with it, but for what the date period has.
  const isWanted = (day: number): boolean => (day < first ? told.nights : [run]).every((each) => isRetained(day, each));
  const missing = Array.from({ length: Math.max(0, until - from) }, (_, nth) => from + nth).filter(
    (day) => !held.has(day) && isWanted(day) && !isNewer(day),
  );
  const { failures } = run.summary;
  const named = (day: number): boolean => failures.some(({ window }) => window === null || holdsDay(window, day));
  // What is held of a meaning that is not complete is not served, and the run says so.
  const untold = isHeldBack(run) ? [] : missing.filter((day) => !named(day));
  return untold.length === 0
    ? []
    : [
        `${untold.length} days of the coverage are not loaded and no failure names them, ${dayText(untold[0] ?? 0)} first`,
      ];
}

const endMs = (end: string, { offset }: SliceChoice): number => dayNumber(end) * DAY_MS - offsetMs(offset);

function holdsDay(window: string, day: number): boolean {
  const [first = '', last = first] = window.split(':');
  return dayNumber(first) <= day && day <= dayNumber(last);
}

/** Whether a failure or a warning of the newest night speaks of a period. */
function isNamed({ start, end }: StoredPeriod, run: RunNight): boolean {
  const isFailed = run.summary.failures.some(({ window }) => window !== null && daysTouch(window, start, end));
  const ofTheNight = warningsOf(run);
  return (
    isFailed || isHeldBack(run) || ofTheNight.some((each) => (each.start ?? end) < end && start < (each.end ?? start))
  );
}

const warningsOf = ({ stored, summary }: RunNight): readonly StoredWarning[] =>
  stored.warnings.filter(({ runId }) => runId === summary.run_id);

/** Whether the run says that a new meaning is not served yet: nothing that is served is refreshed meanwhile. */
export const isHeldBack = (run: RunNight): boolean => warningsOf(run).some(({ code }) => code === 'MEANING_HELD_BACK');

function daysTouch(window: string, start: string, end: string): boolean {
  const [first = '', last = first] = window.split(':');
  return first < end && start <= last;
}

/** Bugs have a law of their own; a settled day whose few rows are gone waits for a person, who is told how to agree. */
const otherwiseJudged: ReadonlySet<string> = new Set(['BUG', 'STORAGE_FAILED', 'DATA_SHRUNK']);

/** f. A night on which the service answered everything well, in whatever form, fails nothing and covers everything. */
const wellAnswered: Law = (told) => {
  const run = newest(told);
  const { mood, world } = run.night;
  // A row without its dimension, a NULL that no filter finds, and a page that nobody can request are reasons to fail by name.
  const canFail =
    world.unknownCountry === 'absent' ||
    (mood.maxRows !== null && world.unknownCountry !== 'none') ||
    mood.pages?.style === 'cursor';
  if (
    mood.empty !== null ||
    mood.failing !== null ||
    mood.odd !== null ||
    mood.cap !== null ||
    canFail ||
    isRefused(run) ||
    !isWholeSync(run)
  )
    return [];
  const failure = run.summary.failures.find(({ code }) => !otherwiseJudged.has(code));
  if (failure !== undefined) return [`${failure.code} though every question was answered well: ${failure.message}`];
  // Days that are empty under a new meaning are asked for in a second run before its table is served.
  const isAskedAgain = run.summary.slices.some(
    ({ periods, empty_periods: empty }) => (periods['meaning changed'] ?? 0) > 0 && empty.length > 0,
  );
  return isAskedAgain ? [] : uncovered(told);
};

/** Whether everything due was asked for, and nobody stopped it. */
export const isWholeSync = ({ run, summary }: RunNight): boolean =>
  run.again === null && summary.status !== 'interrupted';

/** g. Whatever the service says, nothing of it is a bug or breaks the storage. */
const foreseen: Law = (told) =>
  newest(told)
    .summary.failures.filter(({ code }) => code === 'BUG' || code === 'STORAGE_FAILED')
    .map(({ code, message }) => `${code}: ${message}`);

/** Laws of every night by their letter; `e`, that a second run changes nothing, is held where nights are run. */
export const laws: ReadonlyMap<string, Law> = new Map([
  ['g', foreseen],
  ['a', storedAsStated],
  ['b', nothingLost],
  ['c', finalIsFinal],
  ['f', wellAnswered],
]);
