/** The guided tour: a month of simulated nights, in which values mature and become final, then two questions to the copy. */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import { readCatalog } from '../account/stored-catalog.ts';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { connected, startWorld } from '../run/circumstances.ts';
import { fromService } from '../run/service-source.ts';
import type { SourceFactory } from '../run/source.ts';
import type { SyncSummary } from '../run/summary.ts';
import type { StatusReport } from '../report/status/status-report.ts';
import { snapshotOf, statusOf } from '../report/status/status.ts';
import { sync } from '../sync.ts';
import { makeDirectories } from '../warehouse/directories.ts';
import { openWarehouse } from '../warehouse/opening.ts';
import { statement } from '../warehouse/sql.ts';

/** In the package, whose directory may be read-only. */
const bundled = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
/** In a folder, because the paths in it begin with `../`. */
const OWN_CONFIG = 'data/demo.yaml';

/** The first projection needs eight final days, then eight more that become final. */
const USUAL_NIGHTS = 28;
const NIGHT = { hour: 2, minute: 30 } as const;
/** A night that has only just begun could be in the future by another machine's clock. */
const MARGIN_MS = 60_000;

export interface TourOptions {
  /** Absolute; the tour writes to its folder `data`. */
  readonly directory: string;
  /** A configuration of the simulator; by default the package's own, copied to `data/demo.yaml`. */
  readonly file?: string | undefined;
  /** The values of `${NAME}` in the configuration; none by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The nights are before this instant; now by default. */
  readonly now?: Date | null;
  /** Number of nights; 28 by default, since with fewer nothing is projected yet. */
  readonly nights?: number | undefined;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
}

export interface Tour {
  readonly config: Config;
  /** The runs of the nights that no earlier tour ran, oldest first, failed ones included. */
  readonly nights: readonly SyncSummary[];
  readonly status: StatusReport;
  /** Empty for a configuration of the user's, which has other slices, or without a copy. */
  readonly questions: readonly Question[];
}

export interface Question {
  readonly copy: string;
  /** In SQL, with its words as a comment at the top; the final view leaves out what may still change. */
  readonly sql: string;
  readonly answer: readonly Readonly<Record<string, string | number | null>>[];
}

/**
 * Runs the nights that no earlier tour has run. Throws `USAGE_INVALID` for a real service, `STORAGE_FAILED` if its
 * configuration cannot be written, and what `readConfig` throws.
 */
export async function runTour(options: TourOptions): Promise<Tour> {
  const { directory, environment = {}, now, nights: count = USUAL_NIGHTS } = options;
  const { emit = () => {}, signal = new AbortController().signal } = options;
  const file = options.file ?? (await ownConfig(directory));
  const config = await readConfig({ file, directory, environment });
  const nights = nightsBefore(now ?? new Date(), count);
  const summaries = await runNights(config, nights, { emit, signal });
  const status = await statusOf(config, nights.at(-1) ?? new Date(), LOCK_WAIT_MS, {
    emit,
    signal,
  });
  return {
    config,
    nights: summaries,
    status,
    questions: options.file === undefined ? await exampleCopy(config) : [],
  };
}

/** Copies the tour's own configuration unless an earlier tour did so. Throws `STORAGE_FAILED`. */
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

export function nightsBefore(now: Date, count: number): readonly Date[] {
  const latest = now.getTime() - MARGIN_MS;
  const today = new Date(latest).setUTCHours(NIGHT.hour, NIGHT.minute, 0, 0);
  const last = today <= latest ? today : today - MS_PER_DAY;
  return Array.from(
    { length: count },
    (_, index) => new Date(last - (count - 1 - index) * MS_PER_DAY),
  );
}

/** An earlier night cannot be run any more. */
async function runNights(
  config: Config,
  nights: readonly Date[],
  watched: Required<Pick<TourOptions, 'emit' | 'signal'>>,
): Promise<SyncSummary[]> {
  if (config.service.kind !== 'simulator') {
    const message = `The tour was given ${config.file}, which names a real service.`;
    throw new Failure('USAGE_INVALID', message, {
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
      const options = { command: 'sync', slices, asOf: night } as const;
      summaries.push(
        await connected(world.service, watched.emit, async (service) => {
          const whole = fromService(service);
          const source = nightly.slices === config.slices ? whole : reportsAlone(whole);
          return sync(nightly, options, source, watched);
        }),
      );
    }
    return summaries;
  } finally {
    await world.close();
  }
}

/** The first and the last night load everything; the last also publishes. The others load one slice, in a third of the time. */
function configOf(night: Date, config: Config, nights: readonly Date[]): Config {
  if (night === nights.at(-1)) return config;
  if (night === nights[0]) return { ...config, publish: [] };
  return {
    ...config,
    slices: config.slices.slice(0, 1),
    partners: false,
    links: null,
    publish: [],
  };
}

/** Uses the catalog, partners and links of the first night. */
function reportsAlone(door: SourceFactory): SourceFactory {
  return {
    ...door,
    open: (run) => ({
      ...door.open(run),
      begin: async () => ({
        catalog: await readCatalog(run.warehouse, run.slices),
        slices: run.slices,
      }),
    }),
  };
}

/** Asks the first snapshot, if there is one. */
async function exampleCopy(config: Config): Promise<readonly Question[]> {
  const copy = snapshotOf(config);
  if (copy === null) return [];
  const answerRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
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
