/**
 * The guided tour, told step by step as data: a month of nights against the bundled simulator, in which values mature, are restated and
 * become final; then two questions of an analyst to the published copy.
 */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import { readCatalog } from '../catalog/stored-catalog.ts';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { explainPlan, type PlanReport } from '../run/plan-report.ts';
import { connected, type SimulatedWorld, startWorld } from '../run/circumstances.ts';
import { fromService } from '../run/service-source.ts';
import type { SourceDoor } from '../run/source.ts';
import type { SyncSummary } from '../run/summary.ts';
import type { StatusReport } from '../status/status-report.ts';
import { statusOf } from '../status/status.ts';
import { sync } from '../sync.ts';
import { makeDirectories } from '../warehouse/directories.ts';
import { openWarehouse } from '../warehouse/opening.ts';
import { statement } from '../warehouse/sql.ts';
import { isUnknownToEngine } from '../warehouse/warehouse.ts';

/** The configuration that comes with the package, which may lie where nobody may write. */
const bundled = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
/** Its paths start one folder up, as from here. */
const OWN_CONFIG = 'data/demo.yaml';

/** Eight days have to become final before the first projection, and eight more have to be projected and become final. */
const USUAL_NIGHTS = 28;
const NIGHT = { hour: 2, minute: 30 } as const;
/** A night that has only just begun could be later than the clock of the machine that reads it. */
const MARGIN_MS = 60_000;

export interface TourOptions {
  /** Absolute; the tour writes to `data` in it. */
  readonly directory: string;
  /** A configuration of the simulator to tour; one that comes with the package, as `data/demo.yaml`, by default. */
  readonly file?: string | undefined;
  /** Where a configuration's `${NAME}` is taken from; nowhere by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The instant before which the nights lie; now by default. */
  readonly now?: Date | null;
  /** How many nights there are; 28 by default, as with fewer nothing is projected yet. */
  readonly nights?: number | undefined;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
  /** Told each step when it is done; nobody by default. */
  readonly tell?: (step: TourStep) => Promise<void>;
}

/** A step of the tour, with what came of it. */
export type TourStep =
  /** `nightsLeft` is null where there is no warehouse of an earlier tour. */
  | { readonly kind: 'begun'; readonly config: Config; readonly nights: number; readonly nightsLeft: number | null }
  | { readonly kind: 'loaded'; readonly night: Date; readonly isFirst: boolean; readonly summary: SyncSummary }
  /** The nights between the first and the last are about to be played; then they were. */
  | { readonly kind: 'playing'; readonly nights: readonly Date[] }
  | { readonly kind: 'played'; readonly summaries: readonly SyncSummary[] }
  | { readonly kind: 'planned'; readonly night: Date; readonly plan: PlanReport }
  | {
      readonly kind: 'done';
      readonly config: Config;
      readonly status: StatusReport;
      /** None without a published copy. */
      readonly questions: readonly Question[];
    };

/** One analyst's question to the published copy, and what it answered. */
export interface Question {
  /** The copy that was asked. */
  readonly copy: string;
  /** The question in SQL, headed by its words; the final view leaves out what may still change. */
  readonly sql: string;
  readonly answer: readonly Readonly<Record<string, string | number | null>>[];
}

type Touring = Required<Pick<TourOptions, 'emit' | 'signal' | 'tell'>> & {
  readonly config: Config;
  readonly nights: readonly Date[];
};

/**
 * Runs the nights that no earlier tour has run, and resolves to their summaries, failures included. Throws the signal's reason if it aborted
 * before the first, `USAGE_INVALID` for the configuration of a real service, and what `readConfig` throws.
 */
export async function runTour(options: TourOptions): Promise<readonly SyncSummary[]> {
  const { directory, environment = {}, emit = () => {}, now } = options;
  const { signal = new AbortController().signal, tell = async () => {} } = options;
  signal.throwIfAborted();
  const file = options.file ?? (await ownConfig(directory));
  const config = await readConfig({ file, directory, environment });
  const nights = nightsBefore(now ?? new Date(), options.nights ?? USUAL_NIGHTS);
  const tour: Touring = { config, nights, emit, signal, tell };
  const summaries = await runNights(tour, await nightsLeft(tour));
  const hasFailed = summaries.some(({ failures }) => failures.length > 0);
  const last = nights.at(-1);
  if (options.tell !== undefined && last !== undefined && !hasFailed && !signal.aborted) {
    const status = await statusOf(config, last, LOCK_WAIT_MS, { emit, signal });
    await tell({ kind: 'done', config, status, questions: await askedCopy(config) });
  }
  return summaries;
}

/** The configuration of the tour in the working directory, put there unless an earlier tour did. Throws `STORAGE_FAILED`. */
async function ownConfig(directory: string): Promise<string> {
  const path = join(directory, OWN_CONFIG);
  try {
    makeDirectories(dirname(path));
    if (!existsSync(path)) await copyFile(bundled, path);
    return path;
  } catch (cause) {
    throw new Failure('STORAGE_FAILED', `The tour could not write ${path}: ${String(cause)}`, {
      hint: 'Change to a directory that you may write to.',
      cause,
    });
  }
}

/** The last instants at which a nightly job would have run, a day apart, oldest first. */
export function nightsBefore(now: Date, count: number): readonly Date[] {
  const latest = now.getTime() - MARGIN_MS;
  const today = new Date(latest).setUTCHours(NIGHT.hour, NIGHT.minute, 0, 0);
  const last = today <= latest ? today : today - MS_PER_DAY;
  return Array.from({ length: count }, (_, index) => new Date(last - (count - 1 - index) * MS_PER_DAY));
}

/** Time only goes on: a night that an earlier tour has loaded, or gone past, is not run again. */
async function nightsLeft({ config, nights, emit, signal, tell }: Touring): Promise<readonly Date[]> {
  const isBegun = existsSync(config.warehouse);
  const runs = isBegun ? (await statusOf(config, new Date(), LOCK_WAIT_MS, { emit, signal })).runs : [];
  const newest = Math.max(0, ...runs.map((run) => Date.parse(run.as_of)));
  const left = nights.filter((night) => night.getTime() > newest);
  await tell({ kind: 'begun', config, nights: nights.length, nightsLeft: isBegun ? left.length : null });
  return left;
}

/** The first night of all is whole, as is the last, before which what is due is told; those between are played in a row. */
async function runNights(tour: Touring, left: readonly Date[]): Promise<SyncSummary[]> {
  const { config, nights, signal, tell } = tour;
  const [next] = left;
  if (next === undefined) return [];
  if (config.service.kind !== 'simulator') {
    throw new Failure('USAGE_INVALID', `The tour was given ${config.file}, which names a real service.`, {
      hint: 'Run `ripen demo` without --config, or `ripen sync` for your own service.',
    });
  }
  signal.throwIfAborted();
  const world = await startWorld(config.service, next);
  const summaries: SyncSummary[] = [];
  const play = async (night: Date, isWhole: boolean): Promise<SyncSummary> => {
    const summary = await runNight(tour, world, { night, isWhole });
    summaries.push(summary);
    return summary;
  };
  try {
    const isBeginning = next === nights[0];
    if (isBeginning) await tell({ kind: 'loaded', night: next, isFirst: true, summary: await play(next, true) });
    const between = left.slice(isBeginning ? 1 : 0, -1);
    if (between.length > 0) {
      await tell({ kind: 'playing', nights: between });
      for (const night of between) if (!signal.aborted) await play(night, false);
      await tell({ kind: 'played', summaries: summaries.slice(isBeginning ? 1 : 0) });
    }
    const last = left.at(-1);
    if (last === undefined || (isBeginning && left.length === 1) || signal.aborted) return summaries;
    const circumstances = { planAt: last, slices: null, lockWaitMs: LOCK_WAIT_MS, emit: tour.emit, signal };
    await tell({ kind: 'planned', night: last, plan: await explainPlan(config, circumstances) });
    await tell({ kind: 'loaded', night: last, isFirst: false, summary: await play(last, true) });
    return summaries;
  } finally {
    await world.close();
  }
}

/** Syncs as of one night, and publishes the last. One that is not whole requests reports of the first slice alone, in a third of the time. */
async function runNight(
  { config, nights, emit, signal }: Touring,
  world: SimulatedWorld,
  { night, isWhole }: { readonly night: Date; readonly isWhole: boolean },
): Promise<SyncSummary> {
  world.setNow(night);
  const slices = isWhole ? null : config.slices.slice(0, 1).map(({ name }) => name);
  const order = { command: 'sync', asOf: night, slices, lockWaitMs: LOCK_WAIT_MS, forced: null } as const;
  const published = night === nights.at(-1) ? config : { ...config, publish: [] };
  return connected(world.service, emit, async (service) => {
    const source = fromService(service);
    const from = isWhole ? source : reportsAlone(source);
    return sync(published, { ...order, acceptLoss: false, deadlineMs: null }, from, { emit, signal });
  });
}

/** A source without catalog, partners and links: those of the first night serve. */
function reportsAlone(door: SourceDoor): SourceDoor {
  return {
    ...door,
    open: (run) => ({
      ...door.open(run),
      begin: async () => ({ catalog: await readCatalog(run.warehouse, run.slices), slices: run.slices }),
    }),
  };
}

const answerRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

/** Asks the first snapshot; none where none is published. A question without an answer yet is left out. */
async function askedCopy({ publish }: Config): Promise<readonly Question[]> {
  const copy = publish.find((target) => target.kind === 'duckdb')?.path;
  if (copy === undefined) return [];
  const opened = await openWarehouse(copy, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  try {
    const questions: Question[] = [];
    for (const name of ['start/earned_back', 'start/to_expect']) {
      const sql = statement(name).trimEnd();
      const answer = await opened.rows(sql, [], answerRow).catch(ofUnknown);
      if (answer.length > 0) questions.push({ copy, sql, answer });
    }
    return questions;
  } finally {
    await opened.close();
  }
}

/** A configuration of somebody's own has other slices. */
function ofUnknown(thrown: unknown): [] {
  if (isUnknownToEngine(thrown)) return [];
  throw thrown;
}
