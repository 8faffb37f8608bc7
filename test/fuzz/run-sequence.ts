/** Runs a sequence of real nights on a real warehouse in a temporary folder, and holds every law after each of them. */

import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Config } from '../../src/config/config.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { connect } from '../../src/service/connect.ts';
import type { Service } from '../../src/service/service.ts';
import { day as toDay } from '../../src/model/calendar.ts';
import type { RunRequest } from '../../src/run/run.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { explainPlan, type PlanReport } from '../../src/run/plan-report.ts';
import { fromArchive } from '../../src/run/archive-source.ts';
import type { SourceDoor } from '../../src/run/source.ts';
import { fromService } from '../../src/run/service-source.ts';
import { sync } from '../../src/sync.ts';
import { dropSlice } from '../../src/drop.ts';
import { asFailure, Failure } from '../../src/errors.ts';
import { swiftClock } from '../support/scripted-server.ts';
import { calm, startTinyServer, tinyService, type Mood, type TinyNight } from '../support/tiny-service.ts';
import { dayText, type TinyWorld } from '../support/tiny-world.ts';
import { copyIn, shownDifferences, sliceDifferences } from './copies.ts';
import {
  everythingSettles,
  isHeldBack,
  isRefused,
  isWholeSync,
  LawBroken,
  laws,
  LONGEST_DAYS,
  type RunNight,
} from './laws.ts';
import {
  changedSlice,
  instantsOf,
  type Night,
  type NightRun,
  plainRun,
  type Sequence,
  settingsOf,
  type SliceChoice,
} from './sequence.ts';
import { differencesOf, readStored, type Stored } from './stored.ts';
import { plainRequest } from '../support/plain-request.ts';

/** In the process nobody connects to it. */
const NOWHERE = 'http://127.0.0.1:9';
/** What the slice is called while it is renamed. */
const RENAMED = 'renamed';
const DAY_MS = 86_400_000;
const NIGHT_LIMIT_MS = 120_000;
/** Every horizon has passed, and a hole of so many days has to be filled. */
const LONG_AFTER_DAYS = LONGEST_DAYS + 3;

interface Place {
  readonly directory: string;
  readonly start: string;
  /** The service's address, and the night it stands at. */
  readonly origin: string;
  readonly overHttp: boolean;
  readonly audits: boolean;
  readonly archives: boolean;
  readonly publishes: Sequence['publishes'];
  /** Whether weeks begin with another day from some night on. */
  readonly weeksTurn: boolean;
  readonly standAt: (night: TinyNight) => void;
  /** Letters of the laws to hold. */
  readonly held: string;
  readonly onBroken: OnBroken;
}

const needsWire = ({ pages, failing }: Mood): boolean => pages !== null || failing?.with === 'beside';

/** What is told of a law that did not hold; it may throw to end the sequence. */
type OnBroken = (broken: LawBroken) => void;

/** Runs every night and tells of the laws in `held` that do not hold, as soon as they do not. */
export async function runSequence(sequence: Sequence, held: string, onBroken: OnBroken): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-fuzz-'));
  const instants = instantsOf(sequence);
  let standing: TinyNight | null = null;
  const overHttp = sequence.nights.some(({ mood }) => needsWire(mood));
  const server = overHttp
    ? await startTinyServer(() => standing ?? { world: worldOf(sequence), mood: calm, nowMs: 0 })
    : null;
  const place: Place = {
    directory,
    start: sequence.start,
    origin: server?.origin ?? NOWHERE,
    overHttp,
    audits: sequence.audits,
    archives: sequence.archives,
    publishes: sequence.publishes,
    weeksTurn: sequence.world.otherWeekAfterDays !== null || sequence.world.weekStart === 0,
    standAt: (night) => (standing = night),
    held,
    onBroken,
  };
  try {
    const world = worldOf(sequence);
    const { beside } = sequence;
    const told: RunNight[] = [];
    let { slice } = sequence;
    for (const [index, night] of sequence.nights.entries()) {
      slice = index === 0 ? slice : changedSlice(slice, night.change);
      if (index > 0 && night.isRenamed)
        slice = { ...slice, name: slice.name === RENAMED ? sequence.slice.name : RENAMED };
      const slices = beside === null || night.isBesideOut ? [slice] : [slice, beside];
      const nowMs = instants[index] ?? 0;
      const droppedBefore = await passDrop(place, slices, night.drop, nowMs);
      const asked = { slices, droppedBefore, run: night.run };
      await passNight(place, told, { world, mood: night.mood, nowMs }, asked);
    }
    // Of a shorter sequence, any night is the last.
    await holdShown(place, told);
    if (held.includes('e') && !sequence.audits) await holdRepeated(place, told);
    if (held.includes('h') && sequence.archives) await holdReplayed(place, told);
    if (held.includes('d')) await holdSettled(place, told, { world, mood: calm, nowMs: Math.max(...instants) });
  } finally {
    await server?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function worldOf({ world: { otherWeekAfterDays, ...world }, start }: Sequence): TinyWorld {
  return {
    ...world,
    otherWeekFrom: otherWeekAfterDays === null ? null : Date.parse(start) + otherWeekAfterDays * DAY_MS,
  };
}

function tellOf({ onBroken }: Place, law: string, night: number, broken: readonly string[]): void {
  if (broken.length > 0) onBroken(new LawBroken(law, night, broken));
}

function hold({ held, start, onBroken }: Place, nights: readonly RunNight[]): void {
  for (const [letter, law] of laws) {
    const broken = held.includes(letter) ? law({ start, nights }) : [];
    if (broken.length > 0) onBroken(new LawBroken(letter, nights.length - 1, broken));
  }
}

/** What is configured for a night, and done. */
interface AskedNight {
  readonly slices: readonly SliceChoice[];
  /** Of the first slice. */
  readonly droppedBefore: number | null;
  readonly run: NightRun;
}

/** Drops what a night begins with: the day before which periods went, Infinity for all, null where there was nothing. */
async function passDrop(
  place: Place,
  slices: readonly SliceChoice[],
  drop: Night['drop'],
  nowMs: number,
): Promise<number | null> {
  const [slice] = slices;
  if (drop === null || slice === undefined) return null;
  const day = drop === 'all' ? Infinity : Math.floor(nowMs / DAY_MS) - drop.daysBefore;
  const config = await configOf(place, slices);
  const request = { slice: slice.name, before: day === Infinity ? null : toDay(dayText(day)), lockWaitMs: 0 };
  const around = { emit: () => {}, signal: AbortSignal.timeout(NIGHT_LIMIT_MS), agree: async () => true };
  try {
    const { failures } = await dropSlice(config, request, around);
    const failed = failures.map(({ code, message }) => `a drop failed with ${code}: ${message}`);
    if (failed.length > 0) place.onBroken(new LawBroken('g', 0, failed));
  } catch (error) {
    if (error instanceof Failure && error.code === 'USAGE_INVALID') return null;
    throw error;
  }
  if (place.held.includes('i')) {
    const gone = day === Infinity ? slice.name : null;
    tellOf(place, 'i', 0, await shownDifferences(place, { mayBeAbsent: false, gone }));
  }
  return day;
}

/** Runs a night, and holds the laws of every slice after it. */
async function passNight(place: Place, told: RunNight[], night: TinyNight, asked: AskedNight): Promise<void> {
  const { slices, run } = asked;
  const isForeseeable = place.held.includes('j') && run === plainRun && !place.audits && night.mood.catalog === 'usual';
  const planned = isForeseeable ? await plannedFor(place, night, slices) : null;
  const runs = await runNight(place, night, asked);
  if (planned !== null) holdPlan(place, told, planned, runs);
  for (const history of historiesIn(told)) {
    if (!runs.some(({ slice }) => slice.name === history[0]?.slice.name)) await holdUntouched(place, history);
  }
  for (const ofSlice of runs) {
    told.push(ofSlice);
    const history = historyOf(told, ofSlice.slice);
    hold(place, history);
    if (place.held.includes('i')) tellOf(place, 'i', history.length - 1, await sliceDifferences(place, ofSlice));
  }
}

/** What `plan` says of the next sync: periods by reason, of every slice; or why it refuses one. */
async function plannedFor(
  place: Place,
  night: TinyNight,
  slices: readonly SliceChoice[],
): Promise<PlanReport | Failure> {
  const config = await configOf(place, slices);
  const request = {
    planAt: new Date(night.nowMs),
    slices: null,
    lockWaitMs: 0,
    emit: () => {},
    signal: new AbortController().signal,
  };
  return explainPlan(config, request).catch(asFailure);
}

/** j. A sync asks for the periods that `plan` said before it, unless it learned something of the service first. */
function holdPlan(
  { onBroken, weeksTurn }: Place,
  told: readonly RunNight[],
  planned: PlanReport | Failure,
  runs: readonly RunNight[],
): void {
  if (planned instanceof Failure) {
    if (!runs.some(isRefused)) onBroken(new LawBroken('j', told.length, [`plan refused: ${planned.message}`]));
    return;
  }
  const { slices } = planned;
  for (const [at, { slice, summary }] of runs.entries()) {
    const history = historyOf(told, slice);
    const isUnlike = history.at(-1)?.night.mood.catalog !== 'usual';
    if (isUnlike || summary.status === 'interrupted' || (slice.grain === 'week' && weeksTurn)) continue;
    const said = new Map<string, number>();
    for (const { reasons } of slices[at]?.windows ?? []) {
      for (const [reason, count] of Object.entries(reasons)) said.set(reason, (said.get(reason) ?? 0) + count);
    }
    const asked = Object.entries(summary.slices[0]?.periods ?? {}).filter(([, count]) => count > 0);
    const [one, other] = [[...said], asked].map((list) =>
      JSON.stringify(list.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
    if (one !== other) {
      onBroken(new LawBroken('j', history.length, [`plan said ${one} of ${slice.name}, the sync asked ${other}`]));
    }
  }
}

/** b. A slice that is not configured stays as it is. */
async function holdUntouched({ directory, held, onBroken }: Place, history: readonly RunNight[]): Promise<void> {
  const run = history.at(-1);
  if (run === undefined || !held.includes('b')) return;
  const stored = await readStored(join(directory, 'warehouse.duckdb'), run.slice.name);
  if (contentOf(stored) === contentOf(run.stored)) return;
  onBroken(new LawBroken('b', history.length - 1, [`${run.slice.name} changed while it was not configured`]));
}

/** The runs of one slice. */
const historyOf = (told: readonly RunNight[], { name }: SliceChoice): RunNight[] =>
  told.filter(({ slice }) => slice.name === name);

/** The runs of every slice that was ever configured, by slice. */
function historiesIn(told: readonly RunNight[]): RunNight[][] {
  const newest = new Map(told.map(({ slice }) => [slice.name, slice]));
  return [...newest.values()].map((slice) => historyOf(told, slice));
}

/** The newest run of every slice that was configured at the last night. */
const newestOf = (told: readonly RunNight[]): RunNight[] => told.filter(({ night }) => night === told.at(-1)?.night);

/** Two nights long after every horizon: what looked empty at the first is confirmed or corrected by the second. */
async function holdSettled(place: Place, told: RunNight[], last: TinyNight): Promise<void> {
  const slices = historiesIn(told).flatMap((history) => history.at(-1)?.slice ?? []);
  const asked = { slices, droppedBefore: null, run: plainRun };
  for (const days of [LONG_AFTER_DAYS, LONG_AFTER_DAYS + 1]) {
    await passNight(place, told, { ...last, nowMs: last.nowMs + days * DAY_MS }, asked);
  }
  for (const nights of historiesIn(told)) {
    const broken = everythingSettles({ start: place.start, nights });
    if (broken.length > 0) place.onBroken(new LawBroken('d', nights.length - 1, broken));
  }
}

/** e. A second run at the same instant asks nothing and changes nothing, unless something failed or final cells are audited. */
async function holdRepeated(place: Place, told: readonly RunNight[]): Promise<void> {
  const runs = newestOf(told);
  const [first] = runs;
  if (first === undefined || runs.some((run) => run.summary.failures.length > 0 || !isWholeSync(run))) return;
  const slices = runs.map(({ slice }) => slice);
  const again = await runNight(place, first.night, { slices, droppedBefore: null, run: first.run });
  const { requests } = again[0]?.summary.service ?? { requests: 0 };
  const broken = [
    ...(requests === 0 ? [] : [`a second run made ${requests} requests`]),
    ...runs.flatMap(({ stored }, at) =>
      again[at] !== undefined && contentOf(again[at].stored) === contentOf(stored)
        ? []
        : ['a second run changed what is stored'],
    ),
  ];
  if (broken.length > 0) place.onBroken(new LawBroken('e', told.length - 1, broken));
}

/** i. Everything that analysts query is published as it is held. */
async function holdShown(place: Place, told: readonly RunNight[]): Promise<void> {
  const runs = newestOf(told);
  if (!place.held.includes('i') || runs.every(({ stored }) => stored.columns.size === 0)) return;
  if (runs.some(({ summary }) => summary.status === 'interrupted')) return;
  const mayBeAbsent = runs.every(({ stored }) => stored.periods.length === 0);
  tellOf(place, 'i', told.length - 1, await shownDifferences(place, { mayBeAbsent, gone: null }));
}

/** h. The archive gives back what is held, into the warehouse that holds it, and into a new one. */
async function holdReplayed(place: Place, told: readonly RunNight[]): Promise<void> {
  const runs = newestOf(told);
  if (runs.every(({ stored }) => stored.periods.length === 0)) return;
  // The archive has days, too, that a shorter `retain` let go.
  const isShorter = ({ slice }: RunNight): boolean =>
    historyOf(told, slice).some((before) => keptDays(before.slice) < keptDays(slice));
  // What was configured before a run that was stopped is not in force yet.
  if (runs.some(({ summary }) => summary.status === 'interrupted')) return;
  if (runs.some(isShorter) || runs.some(isRefused)) return;
  const again = await replayed(place, runs);
  const elsewhere = await mkdtemp(join(tmpdir(), 'ripen-fuzz-'));
  try {
    const archive = 'warehouse.duckdb.archive';
    await cp(join(place.directory, archive), join(elsewhere, archive), { recursive: true });
    const rebuilt = await replayed({ ...place, directory: elsewhere }, runs);
    const broken = runs.flatMap((run, at) => differencesOfReplay(run, again[at], rebuilt[at]));
    if (broken.length > 0) place.onBroken(new LawBroken('h', told.length - 1, broken));
  } finally {
    await rm(elsewhere, { recursive: true, force: true });
  }
}

function differencesOfReplay(run: RunNight, again: Stored | undefined, rebuilt: Stored | undefined): string[] {
  if (again === undefined || rebuilt === undefined) return ['a replay was not run'];
  return [
    ...differencesOf(run.stored, again)
      .slice(0, 2)
      .map((text) => `a replay ${text}`),
    // A table that is served until another is complete, or until its weeks begin otherwise, is not made anew.
    ...(rebuilt.meaning === run.stored.meaning && !isHeldBack(run) ? differencesOf(run.stored, rebuilt) : []).map(
      (text) => `a rebuilt warehouse ${text}`,
    ),
  ];
}

const keptDays = ({ retainDays }: SliceChoice): number => retainDays ?? Infinity;

async function replayed(place: Place, runs: readonly RunNight[]): Promise<Stored[]> {
  const slices = runs.map(({ slice }) => slice);
  const config = await configOf(place, slices);
  const planAt = new Date(runs[0]?.night.nowMs ?? 0);
  const summary = await runAt(config, { command: 'replay' }, fromArchive(config), planAt);
  const failed = summary.failures.map(({ code, message }) => `a replay failed with ${code}: ${message}`);
  if (failed.length > 0) place.onBroken(new LawBroken('h', 0, failed));
  const stored: Stored[] = [];
  for (const { name } of slices) stored.push(await readStored(config.warehouse, name));
  return stored;
}

function contentOf({ rows, finalRows, periods, columns }: Stored): string {
  const plain = [rows, finalRows].map((list) => list.map((row) => [...row]));
  return JSON.stringify([plain, periods.map(({ final, ...period }) => [period, [...final].sort()]), [...columns]]);
}

async function runNight(
  place: Place,
  night: TinyNight,
  { slices, droppedBefore, run }: AskedNight,
): Promise<RunNight[]> {
  const config = await configOf(place, slices);
  place.standAt(night);
  const service = place.overHttp ? wireTo(config) : tinyService(night);
  try {
    const isReplay = run.again === 'archive' && existsSync(`${config.warehouse}.archive`);
    const asked = askedBy(isReplay || run.again !== 'archive' ? run : { ...run, again: null }, night.nowMs);
    const from = isReplay ? fromArchive(config) : fromService(service);
    const summary = await runAt(config, asked, from, new Date(night.nowMs));
    const runs: RunNight[] = [];
    for (const [at, slice] of slices.entries()) {
      const stored = await readStored(config.warehouse, slice.name);
      const dropped = at === 0 ? droppedBefore : null;
      runs.push({ night, slice, droppedBefore: dropped, run, summary: summaryOf(summary, slice), stored });
    }
    return runs;
  } finally {
    await service.close();
  }
}

/** What a run says of one slice and of all. */
function summaryOf(summary: SyncSummary, { name }: SliceChoice): SyncSummary {
  const ofSlice = ({ slice }: { readonly slice: string | null }): boolean => slice === null || slice === name;
  return {
    ...summary,
    slices: summary.slices.filter((each) => each.name === name),
    failures: summary.failures.filter(ofSlice),
  };
}

function wireTo(config: Config): Service {
  if (config.service.kind !== 'http') throw new TypeError('The configured service is no address.');
  return connect(config.service, () => {}, swiftClock());
}

/** The configuration as its file states it: what a stranger would write, read by the front door. */
async function configOf(
  { directory, start, origin, audits, archives, publishes }: Place,
  slices: readonly SliceChoice[],
): Promise<Config> {
  const document = {
    service: { base_url: origin, reports_url: origin, token: '${RIPEN_TOKEN}', max_starts_per_second: 50 },
    warehouse: 'warehouse.duckdb',
    partners: false,
    links: false,
    audit: audits ? 1 : 0,
    archive: archives ? '3650d' : 'off',
    publish: publishes.map((kind) => ({ [kind]: copyIn(kind) })),
    slices: slices.map((slice) => settingsOf(slice, start)),
  };
  await writeFile(join(directory, 'ripen.yaml'), JSON.stringify(document));
  return readConfig({ directory, environment: { RIPEN_TOKEN: 'fuzz-token' } });
}

/** What of a run is not the same for every one. */
interface Asked {
  readonly command: RunRequest['command'];
  readonly forced?: RunRequest['forced'];
  readonly acceptLoss?: boolean;
  readonly stopsAt?: number | null;
}

function askedBy({ again, ...run }: NightRun, nowMs: number): Asked {
  if (again === 'archive') return { ...run, command: 'replay' };
  if (again === null) return { ...run, command: 'sync' };
  const start = Math.floor(nowMs / DAY_MS) - again.daysBefore;
  return {
    ...run,
    command: 'backfill',
    forced: { start: toDay(dayText(start)), end: toDay(dayText(start + again.days)) },
  };
}

function runAt(config: Config, asked: Asked, from: SourceDoor, asOf: Date): Promise<SyncSummary> {
  const { command, forced = null, acceptLoss = false, stopsAt = null } = asked;
  const request = { ...plainRequest, command, asOf, forced, acceptLoss };
  const stop = new AbortController();
  let told = 0;
  return sync(config, request, from, {
    emit: () => {
      told += 1;
      if (told === stopsAt) stop.abort();
    },
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(NIGHT_LIMIT_MS)]),
  });
}
