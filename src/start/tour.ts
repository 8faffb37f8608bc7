/**
 * The guided tour: two nights against the bundled simulator, with the configuration that comes with the package; what the
 * second night fetched again and why; one analyst's question to the published copy. It is told step by step, as data.
 */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { explainPlan, type PlanReport } from '../run/plan-report.ts';
import { connected, type SimulatedWorld, startWorld } from '../run/service-in-use.ts';
import { fromService } from '../run/service-source.ts';
import type { SyncSummary } from '../run/summary.ts';
import type { StatusReport } from '../status/status-report.ts';
import { statusOf } from '../status/status.ts';
import { sync } from '../sync.ts';
import { makeDirectories } from '../warehouse/directories.ts';
import { openWarehouse } from '../warehouse/opening.ts';
import { statement } from '../warehouse/sql.ts';

/** The configuration that comes with the package, which may lie where nobody may write. */
const bundled = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
/** Its paths start one folder up, as from here. */
const OWN_CONFIG = 'data/demo.yaml';

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
  /** The instant before which the two nights lie; now by default. */
  readonly now?: Date | null;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
  /** Told each step when it is done; nobody by default. */
  readonly tell?: (step: TourStep) => Promise<void>;
}

/** A step of the tour, with what came of it. */
export type TourStep =
  /** `nightsLeft` is null where there is no warehouse of an earlier tour. */
  | { readonly kind: 'begun'; readonly config: Config; readonly nightsLeft: number | null }
  | { readonly kind: 'planned'; readonly night: Date; readonly plan: PlanReport }
  | { readonly kind: 'loaded'; readonly night: Date; readonly isFirst: boolean; readonly summary: SyncSummary }
  | {
      readonly kind: 'done';
      readonly config: Config;
      readonly status: StatusReport;
      readonly question: Question | null;
    };

/** One analyst's question to the published copy, and what it answered. */
export interface Question {
  /** The copy that was asked. */
  readonly copy: string;
  /** The question in SQL, headed by its words; the final view leaves out what may still change. */
  readonly sql: string;
  readonly answer: readonly Readonly<Record<string, string | number | null>>[];
}

interface Touring {
  readonly config: Config;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly tell: (step: TourStep) => Promise<void>;
}

/**
 * Runs the nights that no earlier tour has run, and resolves to their summaries; failures are in them. Throws the signal's reason
 * where it aborted before the first of them, `USAGE_INVALID` for a configuration of a real service, `STORAGE_FAILED`, and what `readConfig` throws.
 */
export async function runTour(options: TourOptions): Promise<readonly SyncSummary[]> {
  const { directory, environment = {}, emit = () => {} } = options;
  const { signal = new AbortController().signal, tell = async () => {} } = options;
  signal.throwIfAborted();
  const file = options.file ?? (await ownConfig(directory));
  const config = await readConfig({ file, directory, environment });
  const tour: Touring = { config, emit, signal, tell };
  const nights = twoNightsBefore(options.now ?? new Date());
  const summaries = await runNights(tour, nights, await nightsLeft(tour, nights));
  const hasFailed = summaries.some(({ failures }) => failures.length > 0);
  if (options.tell !== undefined && !hasFailed && !signal.aborted) {
    const status = await statusOf(config, nights[1], LOCK_WAIT_MS, { emit, signal });
    await tell({ kind: 'done', config, status, question: await askedCopy(config) });
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

/** The last two instants at which a nightly job would have run, a day apart. */
export function twoNightsBefore(now: Date): readonly [Date, Date] {
  const latest = now.getTime() - MARGIN_MS;
  const today = new Date(latest).setUTCHours(NIGHT.hour, NIGHT.minute, 0, 0);
  const second = today <= latest ? today : today - MS_PER_DAY;
  return [new Date(second - MS_PER_DAY), new Date(second)];
}

/** Time only goes on: a night that an earlier tour has loaded, or gone past, is not run again. */
async function nightsLeft({ config, emit, signal, tell }: Touring, nights: readonly Date[]): Promise<readonly Date[]> {
  if (!existsSync(config.warehouse)) {
    await tell({ kind: 'begun', config, nightsLeft: null });
    return nights;
  }
  const { runs } = await statusOf(config, new Date(), LOCK_WAIT_MS, { emit, signal });
  const newest = Math.max(0, ...runs.map((run) => Date.parse(run.as_of)));
  const left = nights.filter((night) => night.getTime() > newest);
  await tell({ kind: 'begun', config, nightsLeft: left.length });
  return left;
}

async function runNights(tour: Touring, nights: readonly Date[], left: readonly Date[]): Promise<SyncSummary[]> {
  const { config, signal } = tour;
  const [first] = left;
  if (first === undefined) return [];
  if (config.service.kind !== 'simulator') {
    throw new Failure('USAGE_INVALID', `The tour was given ${config.file}, which names a real service.`, {
      hint: 'Run `ripen demo` without --config, or `ripen sync` for your own service.',
    });
  }
  signal.throwIfAborted();
  const world = await startWorld(config.service, first);
  try {
    const summaries: SyncSummary[] = [];
    for (const night of left) {
      if (signal.aborted) break;
      summaries.push(await runNight(tour, world, night, night === nights[0]));
    }
    return summaries;
  } finally {
    await world.close();
  }
}

/** Syncs as of one night. Before the second, what is due is told with its reasons. */
async function runNight(
  { config, emit, signal, tell }: Touring,
  world: SimulatedWorld,
  night: Date,
  isFirst: boolean,
): Promise<SyncSummary> {
  const request = { asOf: night, slices: null, lockWaitMs: LOCK_WAIT_MS };
  world.setNow(night);
  if (!isFirst) {
    await tell({
      kind: 'planned',
      night,
      plan: await explainPlan(config, { planAt: night, slices: null, lockWaitMs: LOCK_WAIT_MS, emit, signal }),
    });
  }
  const order = { ...request, command: 'sync', forced: null, acceptLoss: false, deadlineMs: null } as const;
  const summary = await connected(world.service, emit, async (service) =>
    sync(config, order, fromService(service), { emit, signal }),
  );
  await tell({ kind: 'loaded', night, isFirst, summary });
  return summary;
}

const answerRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

/** Asks the first snapshot; null where none is published. Throws what opening it throws. */
async function askedCopy({ publish }: Config): Promise<Question | null> {
  const copy = publish.find((target) => target.kind === 'duckdb')?.path;
  if (copy === undefined) return null;
  const opened = await openWarehouse(copy, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  try {
    const sql = statement('start/earned_back').trimEnd();
    return { copy, sql, answer: await opened.rows(sql, [], answerRow) };
  } finally {
    await opened.close();
  }
}
