/**
 * The guided tour: simulated nights, in the last of which a final day is corrected at the service, and an audit holds back a day
 * that has not arrived whole.
 */

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import { readCatalog } from '../account/stored-catalog.ts';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import { type Emit, guarded } from '../events.ts';
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

const bundled = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
const OWN_CONFIG = 'data/demo.yaml';

/** The first projection needs eight final days, then eight more that become final. */
const USUAL_NIGHTS = 28;
/** Published, too: one with a correction, one that is held, one that is whole again. */
const TOLD_NIGHTS = 3;
/** Old enough for its installs and its spend to be final before it is corrected. */
const CORRECTED_AGE_DAYS = 20;

export interface TourOptions {
  /** Absolute. The tour writes to its folder `data`, its configuration too. */
  readonly directory: string;
  /** The instant that all nights precede (default: now). */
  readonly now?: Date | null;
  /** Default: 28. With fewer nothing is projected yet. */
  readonly nights?: number | undefined;
  readonly onNight?: (night: SyncSummary) => void;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
}

export interface Tour {
  readonly config: Config;
  /** The runs of the nights that no earlier tour ran, oldest first, failed ones included. */
  readonly nights: readonly SyncSummary[];
  /** The last nights, with what readers saw (null without a copy). */
  readonly told: readonly {
    readonly summary: SyncSummary;
    readonly status: StatusReport;
    readonly newestDays: Question | null;
  }[];
  readonly status: StatusReport;
  /** Empty without a copy. */
  readonly questions: readonly Question[];
}

export interface Question {
  readonly copy: string;
  /** Its words are a comment at the top. */
  readonly sql: string;
  readonly answer: readonly Readonly<Record<string, string | number | null>>[];
}

export async function runTour(options: TourOptions): Promise<Tour> {
  const { directory, now, nights: count = USUAL_NIGHTS, onNight } = options;
  const { signal = new AbortController().signal } = options;
  const emit = guarded(options.emit ?? (() => {}));
  const end = now ?? new Date();
  const tonight = new Date(end).setUTCHours(2, 30, 0, 0);
  const last = tonight <= end.getTime() ? tonight : tonight - MS_PER_DAY;
  const nights = Array.from(
    { length: count },
    (_, at) => new Date(last - (count - 1 - at) * MS_PER_DAY),
  );
  const file = await ownConfig(directory, nights);
  const config = await readConfig({ file, directory, environment: {} });
  const { service: simulated } = config;
  if (simulated.kind === 'http') {
    const hint = 'Delete the file, and run `ripen demo` again.';
    throw new Failure('USAGE_INVALID', `${file} was changed to a real service.`, { hint });
  }
  const statusAt = async (at: Date) => statusOf(config, at, LOCK_WAIT_MS, { emit, signal });
  // An earlier night cannot be run any more.
  const { runs } = existsSync(config.warehouse) ? await statusAt(new Date()) : { runs: [] };
  const newest = Math.max(0, ...runs.map((run) => Date.parse(run.as_of)));
  const remaining = nights.filter((night) => night.getTime() > newest);
  const summaries: SyncSummary[] = [];
  const told: Tour['told'][number][] = [];
  const world = await startWorld(simulated, remaining[0] ?? new Date());
  try {
    for (const night of remaining) {
      signal.throwIfAborted();
      world.simulator.setNow(night);
      const isTold = nights.slice(-TOLD_NIGHTS).includes(night);
      // The other nights load less, in a third of the time.
      const isWhole = night === nights[0] || night === nights.at(-1);
      const nightly = {
        ...config,
        publish: isTold ? config.publish : [],
        audits: isTold ? config.audits : [],
        partners: isWhole && config.partners,
        links: isWhole ? config.links : null,
      };
      const names = config.slices.map(({ name }) => name);
      const slices = isWhole || isTold ? names : names.slice(0, 1);
      const order = { command: 'sync', slices, asOf: night } as const;
      const summary = await connected(world.service, emit, async (service) => {
        const source = fromService(service);
        return sync(nightly, order, isWhole ? source : reportsAlone(source), { emit, signal });
      });
      summaries.push(summary);
      onNight?.(summary);
      if (!isTold) continue;
      const [newestDays = null] = await answers(config, ['start/newest_days']);
      told.push({ summary, status: await statusAt(night), newestDays });
    }
  } finally {
    await world.simulator.close();
  }
  return {
    config,
    nights: summaries,
    told,
    status: told.at(-1)?.status ?? (await statusAt(nights.at(-1) ?? new Date())),
    questions: await answers(config, ['start/earned_back', 'start/to_expect']),
  };
}

/** Copies the configuration unless an earlier tour did. */
async function ownConfig(directory: string, nights: readonly Date[]) {
  const path = join(directory, OWN_CONFIG);
  const [correction, late, last] = nights.slice(-TOLD_NIGHTS);
  const dayOf = (night: Date, daysBefore = 0) =>
    new Date(night.getTime() - daysBefore * MS_PER_DAY).toISOString().slice(0, 10);
  try {
    makeDirectories(dirname(path));
    if (existsSync(path)) return path;
    let text = await readFile(bundled, 'utf8');
    if (correction !== undefined && late !== undefined && last !== undefined) {
      const lateDay = `${dayOf(late, 1)}: ${dayOf(last)}T00:00:00Z`;
      const correctedDay = `${dayOf(correction, CORRECTED_AGE_DAYS)}: ${dayOf(correction)}T00:00:00Z`;
      text = text
        .replace('late_days: {}', `late_days: { ${lateDay} }`)
        .replace('corrected_days: {}', `corrected_days: { ${correctedDay} }`);
    }
    await writeFile(path, text);
    return path;
  } catch (cause) {
    throw new Failure('STORAGE_FAILED', `The tour could not write ${path}: ${String(cause)}`, {
      hint: 'Change to a directory that you may write to.',
      cause,
    });
  }
}

/** Uses the catalog of the first night. */
const reportsAlone = (factory: SourceFactory): SourceFactory => ({
  ...factory,
  open: (run) => ({
    ...factory.open(run),
    begin: async () => ({
      catalog: await readCatalog(run.warehouse, run.slices),
      slices: run.slices,
    }),
  }),
});

async function answers(config: Config, names: readonly string[]) {
  const copy = snapshotOf(config);
  if (copy === null) return [];
  const answerRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
  const opened = await openWarehouse(copy, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  try {
    const questions: Question[] = [];
    for (const name of names) {
      const sql = statement(name).trimEnd();
      questions.push({ copy, sql, answer: await opened.rows(sql, [], answerRow) });
    }
    return questions;
  } finally {
    await opened.close();
  }
}
