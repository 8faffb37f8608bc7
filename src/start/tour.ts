/**
 * The guided tour: a month of nights against the bundled simulator, in which values mature, are restated and become final; then two
 * questions of an analyst to the published copy.
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
import { connected, startWorld } from '../run/circumstances.ts';
import { fromService } from '../run/service-source.ts';
import type { SourceDoor } from '../run/source.ts';
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
}

export interface Tour {
  readonly config: Config;
  /** The nights that no earlier tour had run, in their order, failures included. */
  readonly nights: readonly SyncSummary[];
  /** As of the last night. */
  readonly status: StatusReport;
  /** To the published copy; none for a configuration of one's own, which has other slices. */
  readonly questions: readonly Question[];
}

/** One analyst's question to the published copy, and what it answered. */
export interface Question {
  /** The copy that was asked. */
  readonly copy: string;
  /** The question in SQL, headed by its words; the final view leaves out what may still change. */
  readonly sql: string;
  readonly answer: readonly Readonly<Record<string, string | number | null>>[];
}

type Watched = Required<Pick<TourOptions, 'emit' | 'signal'>>;

/**
 * Runs the nights that no earlier tour has run. Throws the signal's reason once it aborted, `USAGE_INVALID` for the configuration of a
 * real service, and what `readConfig` throws.
 */
export async function runTour(options: TourOptions): Promise<Tour> {
  const { directory, environment = {}, now, nights: count = USUAL_NIGHTS } = options;
  const { emit = () => {}, signal = new AbortController().signal } = options;
  const file = options.file ?? (await ownConfig(directory));
  const config = await readConfig({ file, directory, environment });
  const nights = nightsBefore(now ?? new Date(), count);
  const summaries = await runNights(config, nights, { emit, signal });
  const status = await statusOf(config, nights.at(-1) ?? new Date(), LOCK_WAIT_MS, { emit, signal });
  return { config, nights: summaries, status, questions: options.file === undefined ? await exampleCopy(config) : [] };
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
async function runNights(config: Config, nights: readonly Date[], watched: Watched): Promise<SyncSummary[]> {
  if (config.service.kind !== 'simulator') {
    throw new Failure('USAGE_INVALID', `The tour was given ${config.file}, which names a real service.`, {
      hint: 'Run `ripen demo` without --config, or `ripen sync` for your own service.',
    });
  }
  const isBegun = existsSync(config.warehouse);
  const runs = isBegun ? (await statusOf(config, new Date(), LOCK_WAIT_MS, watched)).runs : [];
  const newest = Math.max(0, ...runs.map((run) => Date.parse(run.as_of)));
  const left = nights.filter((night) => night.getTime() > newest);
  const world = await startWorld(config.service, left[0] ?? new Date());
  try {
    const summaries: SyncSummary[] = [];
    for (const night of left) {
      watched.signal.throwIfAborted();
      world.setNow(night);
      const nightly = configOf(night, config, nights);
      const slices = nightly.slices.map(({ name }) => name);
      const order = { command: 'sync', asOf: night, slices, lockWaitMs: LOCK_WAIT_MS, forced: null } as const;
      const request = { ...order, acceptLoss: false, deadlineMs: null };
      summaries.push(
        await connected(world.service, watched.emit, async (service) => {
          const source = fromService(service);
          return sync(nightly, request, nightly.slices === config.slices ? source : reportsAlone(source), watched);
        }),
      );
    }
    return summaries;
  } finally {
    await world.close();
  }
}

/** The first night and the last are whole, and the last is published; of those between the first slice is enough, in a third of the time. */
function configOf(night: Date, config: Config, nights: readonly Date[]): Config {
  if (night === nights.at(-1)) return config;
  if (night === nights[0]) return { ...config, publish: [] };
  return { ...config, slices: config.slices.slice(0, 1), partners: false, links: null, publish: [] };
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

/** Asks the first snapshot what the tour's own slices can answer. */
async function exampleCopy({ publish }: Config): Promise<readonly Question[]> {
  const copy = publish.find((target) => target.kind === 'duckdb')?.path;
  if (copy === undefined || !existsSync(copy)) return [];
  const opened = await openWarehouse(copy, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  try {
    const questions: Question[] = [];
    for (const name of ['start/earned_back', 'start/to_expect']) {
      const sql = statement(name).trimEnd();
      questions.push({ copy, sql, answer: await opened.rows(sql, [], answerRow) });
    }
    return questions;
  } finally {
    await opened.close();
  }
}
