/**
 * FAULTS 23, at every step: the n-th statement or file operation of a night fails, once or like all that follow it, and
 * the night is run once more.
 *
 * A few steps of kinds as different as can be are drawn; `RIPEN_STEPS_SEED` draws others. The long form fails every one:
 * `RIPEN_FAILING_STEPS=1/2` one half of them, so that as many processes as there are cores can share them.
 */

import { cp, rm } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { readConfig } from '../../src/config/read-config.ts';
import { asFailure, type FailureKind, failureCodes } from '../../src/errors.ts';
import { connect } from '../../src/service/connect.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { fromService } from '../../src/run/service-source.ts';
import { sync } from '../../src/sync.ts';
import { countSteps } from '../support/failing-step.ts';
import { contentsOf, differences, everythingIn } from '../support/installation-contents.ts';
import { openInstallation, serviceAt, TOKEN, type Installation } from '../support/installation.ts';
import { drawSteps } from '../support/kill-moments.ts';

const PART = process.env['RIPEN_FAILING_STEPS']?.split('/').map(Number) ?? null;
const DRAWN = 8;
const SEED = Number(process.env['RIPEN_STEPS_SEED'] ?? 1);
/** Far more than two nights and their comparison take. */
const MS_PER_STEP = 30_000;
/** The long form takes hours: it says where it is, and what is wrong as soon as it is found. */
const TOLD_EVERY = 50;
/** More than there are. */
const MAX_STEPS = 1000;

const nights = ['2026-02-14T02:30:00Z', '2026-02-15T02:30:00Z'] as const;

const settings = {
  service: serviceAt('${SERVICE}'),
  warehouse: 'data/warehouse.duckdb',
  publish: [{ duckdb: 'data/snapshot.duckdb' }, { parquet: 'data/lake' }],
  archive: '30d',
  partners: true,
  links: { apps: 'all', every: '1h' },
  slices: [
    {
      name: 'daily',
      dimensions: ['day', 'os_name'],
      metrics: ['installs', 'cost'],
      date_period: '-3d:yesterday',
    },
    {
      name: 'whole',
      dimensions: ['app_token'],
      metrics: ['installs'],
      date_period: '-9d:yesterday',
    },
  ],
};

const simulators: Simulator[] = [];
let installation: Installation;
let kept = '';
let steps: readonly string[] = [];
let served: readonly Record<string, string>[] = [];
let undisturbed: Record<string, string> = {};

beforeAll(async () => {
  for (const asOf of nights) {
    const world = { seed: 5, apps: 2, partners: 3, links: 6, rowsPerDay: 20 };
    simulators.push(await startSimulator({ token: TOKEN, world, now: new Date(asOf) }));
  }
  installation = await openInstallation();
  await installation.configure(settings);
  kept = `${installation.directory}-kept`;
  await runUndisturbed(0);
  await cp(installation.path('data'), kept, { recursive: true });
  const counted = await countSteps();
  await runUndisturbed(1).finally(() => counted.stop());
  steps = counted.kinds;
  served = [
    await contentsOf(`${kept}/snapshot.duckdb`),
    await contentsOf(installation.path('data', 'snapshot.duckdb')),
  ];
  undisturbed = await state();
});

afterAll(async () => {
  await Promise.all(simulators.map((simulator) => simulator.close()));
  await installation.close();
  await rm(kept, { recursive: true, force: true });
});

/** The kinds of what failed in a night; a run that could not begin failed as well. */
async function runNight(night: number): Promise<FailureKind[]> {
  const environment = { RIPEN_TOKEN: TOKEN, SERVICE: simulators[night]?.url ?? '' };
  const config = await readConfig({ directory: installation.directory, environment });
  if (config.service.kind !== 'http') throw new Error('an address was configured');
  const service = connect(config.service, () => {});
  const asOf = new Date(nights[night] ?? 0);
  try {
    const request = { command: 'sync', lockWaitMs: 0, asOf } as const;
    const { failures } = await sync(config, request, fromService(service), {
      emit: () => {},
      signal: AbortSignal.timeout(MS_PER_STEP),
    });
    return failures.map(({ code }) => failureCodes[code]);
  } catch (error) {
    return [asFailure(error).kind];
  } finally {
    await service.close();
  }
}

async function runUndisturbed(night: number): Promise<void> {
  const failures = await runNight(night);
  if (failures.length > 0)
    throw new Error(`a night that nobody disturbed failed: ${failures.join(', ')}`);
}

/** All there is but the archive, whose names tell when, and which may lack what could not be kept. */
async function state(): Promise<Record<string, string>> {
  const everything = await everythingIn(installation);
  const files = (everything['files'] ?? '')
    .split('\n')
    .filter((file) => !file.includes('.archive/'));
  return { ...everything, files: files.join('\n') };
}

/**
 * What a database holds by what is loaded as one: a slice with all that the ledger says of it, a dimension table. A night
 * that failed in part serves some of them new and some as they were.
 */
function byUnit(contents: Record<string, string>): Record<string, string> {
  const units = new Map<string, string[]>();
  const names = settings.slices.map(({ name }) => name);
  for (const [table, text] of Object.entries(contents)) {
    const ofTable = names.find((name) =>
      new RegExp(`^main\\.${name}(_final|_links)?$`).test(table),
    );
    for (const line of text.split('\n')) {
      const ofLine = table.startsWith('ripen.')
        ? names.find((name) => line.includes(`"${name}"`))
        : ofTable;
      const unit = ofLine ?? table;
      units.set(unit, [...(units.get(unit) ?? []), `${table}: ${line}`]);
    }
  }
  return Object.fromEntries([...units].map(([unit, lines]) => [unit, lines.join('\n')]));
}

/** The units that are neither as they were served before the night nor as after it. */
function neitherOldNorNew(now: Record<string, string>): string[] {
  const known = served.map(byUnit);
  // A projection is void once its period is loaded again, until the night is measured.
  const units = Object.entries(byUnit(now)).filter(([unit]) => !unit.endsWith('_projected'));
  return units
    .filter(([unit, text]) => known.every((each) => each[unit] !== text))
    .map(([unit]) => unit);
}

const modes = ['once', 'from there on'] as const;

interface Failing {
  readonly step: number;
  readonly mode: (typeof modes)[number];
}

/** What is wrong after a night with a failing step, and after the next one; empty when nothing is. */
async function aftermath({ step, mode }: Failing): Promise<string[]> {
  const data = installation.path('data');
  await rm(data, { recursive: true });
  await cp(kept, data, { recursive: true });
  const failing = await countSteps((at) => (mode === 'once' ? at === step : at >= step));
  const failures = await runNight(1).finally(() => failing.stop());
  const now = await contentsOf(installation.path('data', 'snapshot.duckdb'));
  const wrong = [
    ...failures.filter((kind) => kind !== 'storage').map((kind) => `a failure of kind ${kind}`),
    // A step that does not matter may fail unseen, but then everything is as if it had not.
    ...(failures.length === 0 ? differences(undisturbed, await state()) : []),
    ...neitherOldNorNew(now).map((unit) => `a snapshot with ${unit} neither old nor new`),
  ];
  const again = await runNight(1);
  wrong.push(
    ...again.map((kind) => `the next run: a failure of kind ${kind}`),
    ...differences(undisturbed, await state()),
  );
  return wrong.map((each) => `step ${step}, "${failing.kinds[step - 1]}", ${mode}: ${each}`);
}

function chosen(): Failing[] {
  const all = [...steps.keys()].map((index) => index + 1);
  if (PART !== null)
    return partOf(
      all.flatMap((step) => modes.map((mode) => ({ step, mode }))),
      PART,
    );
  const timeline = { linesAtMs: [], ms: 0, steps };
  return drawSteps(DRAWN, timeline, SEED).flatMap((moment, index) =>
    'step' in moment
      ? [{ step: moment.step, mode: index % 2 === 0 ? 'once' : 'from there on' } as const]
      : [],
  );
}

/** The i-th of n parts, every n-th of all. */
function partOf(all: readonly Failing[], [i, n]: readonly number[]): Failing[] {
  if (i === undefined || n === undefined || !(i >= 1 && i <= n))
    throw new Error('RIPEN_FAILING_STEPS is one part: 1/2');
  return all.filter((_, index) => index % n === i - 1);
}

describe(`steps ${PART === null ? `drawn from seed ${SEED}` : `of every number, part ${PART.join(' of ')}`}`, () => {
  test(
    'whichever step fails, the night tells a failure of the disk, serves each slice old or new, and the next run completes it',
    async () => {
      const wrong: string[] = [];
      const all = chosen();
      for (const [index, failing] of all.entries()) {
        if (index > 0 && index % TOLD_EVERY === 0)
          process.stdout.write(`${index} of ${all.length} failing steps\n`);
        const found = await aftermath(failing);
        if (PART !== null) for (const each of found) process.stdout.write(`${each}\n`);
        wrong.push(...found);
      }
      expect(wrong).toEqual([]);
      expect(steps.length).toBeGreaterThan(100);
    },
    (PART === null ? DRAWN : modes.length * MAX_STEPS) * MS_PER_STEP,
  );
});
