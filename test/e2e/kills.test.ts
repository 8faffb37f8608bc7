/**
 * FAULTS 21: the process is killed amid a sync, publishing included, and run once more.
 *
 * Half of the kills come at instants spread over the whole run, half right before a step on a database or a file; half
 * hit a first night, half a second one. `RIPEN_KILLS=200` is the long form.
 */

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { differences, everythingIn } from '../support/installation-contents.ts';
import {
  openInstallation,
  serviceAt,
  TOKEN,
  type Ended,
  type Installation,
  type Running,
} from '../support/installation.ts';
import { writeKillHook, type KillHook } from '../support/kill-hook.ts';
import {
  drawInstants,
  drawSteps,
  momentText,
  type Moment,
  type Timeline,
} from '../support/kill-moments.ts';
import { ask } from '../support/sample-warehouse.ts';

const KILLS = Number(process.env['RIPEN_KILLS'] ?? 4);
const SEED = Number(process.env['RIPEN_KILLS_SEED'] ?? 1);
/** Killed side by side, each in a folder of its own. */
const LANES = 2;
/** Far more than one kill and two runs take. */
const MS_PER_KILL = 20_000;

const nights = ['2026-02-14T02:30:00Z', '2026-02-15T02:30:00Z'] as const;

const settings = {
  service: serviceAt('${SERVICE}'),
  warehouse: 'data/warehouse.duckdb',
  publish: [{ duckdb: 'data/snapshot.duckdb' }, { parquet: 'data/lake' }],
  partners: true,
  links: { apps: 'all', every: '1h' },
  slices: [
    {
      name: 'daily',
      dimensions: ['day', 'app_token', 'partner_name', 'os_name'],
      metrics: ['installs', 'clicks', 'cost', 'all_revenue_total_d7'],
      date_period: '-12d:yesterday',
    },
    {
      name: 'hourly',
      dimensions: ['hour', 'app_token'],
      metrics: ['installs'],
      date_period: '-3d:yesterday',
    },
    {
      name: 'monthly',
      dimensions: ['month', 'os_name'],
      metrics: ['installs', 'revenue'],
      date_period: '-60d:yesterday',
    },
    {
      name: 'whole',
      dimensions: ['app_token'],
      metrics: ['installs'],
      date_period: '-9d:yesterday',
    },
    {
      name: 'curve',
      dimensions: ['day', 'os_name'],
      cohorts: { all_revenue_total: 'd0..d9', retained_users: ['d0', 'd1'] },
      date_period: '-12d:yesterday',
    },
  ],
};

/** A night that nobody disturbed. */
interface Night extends Timeline {
  readonly contents: Record<string, string>;
}

interface Kill {
  readonly night: number;
  readonly moment: Moment;
}

let hookDirectory = '';
let hook: KillHook;
const simulators: Simulator[] = [];
const undisturbed: Night[] = [];

beforeAll(async () => {
  for (const asOf of nights) {
    const world = { seed: 5, listed: [], apps: 2, partners: 3, links: 12, rowsPerDay: 40 };
    simulators.push(await startSimulator({ token: TOKEN, world, now: new Date(asOf) }));
  }
  const installation = await installed();
  hookDirectory = await mkdtemp(join(tmpdir(), 'ripen-kills-'));
  hook = await writeKillHook(join(hookDirectory, 'kill'));
  for (const night of nights.keys()) {
    const startedAt = performance.now();
    const running = startNight(installation, night, hook.recording);
    await expectSuccess(running);
    const ms = performance.now() - startedAt;
    const [steps, contents] = [await hook.recorded(), await everythingIn(installation)];
    undisturbed.push({ linesAtMs: running.linesAtMs, ms, steps, contents });
  }
  await installation.close();
});

afterAll(async () => {
  await Promise.all([
    rm(hookDirectory, { recursive: true }),
    ...simulators.map((simulator) => simulator.close()),
  ]);
});

async function installed(): Promise<Installation> {
  const installation = await openInstallation();
  await installation.configure(settings);
  return installation;
}

function startNight(
  installation: Installation,
  night: number,
  environment: Record<string, string> = {},
): Running {
  const argv = ['sync', '--as-of', nights[night] ?? '', '--log', 'json', '--lock-wait', '5s'];
  return installation.start(argv, { SERVICE: simulators[night]?.url ?? '', ...environment });
}

async function expectSuccess(running: Running): Promise<void> {
  const { code, err } = await running.ended;
  if (code !== 0) throw new Error(`a run that nobody disturbed ended with ${code}: ${err}`);
}

/** Instants and steps of both nights by turns, in two lanes that each meet both nights. */
function drawKills(count: number): Kill[] {
  const each = Math.ceil(count / 4);
  const drawn = undisturbed.map((timeline, night) => ({
    instants: drawInstants(each, timeline, SEED + night),
    steps: drawSteps(each, timeline, SEED + night),
  }));
  const kills = Array.from({ length: each }, (_, index) =>
    drawn.flatMap(({ instants, steps }, night) =>
      [instants[index], steps[index]].flatMap((moment) =>
        moment === undefined ? [] : [{ night, moment }],
      ),
    ),
  );
  return kills.flat().slice(0, count);
}

async function kill(installation: Installation, { night, moment }: Kill): Promise<Ended> {
  if ('before' in moment) {
    return startNight(installation, night, hook.killingBefore(moment.step)).ended;
  }
  const running = startNight(installation, night);
  await running.untilLine(moment.line);
  await sleep(moment.thenMs);
  running.kill('SIGKILL');
  return running.ended;
}

interface Aftermath {
  /** Whether the process was killed before it had ended by itself. */
  readonly hit: boolean;
  readonly wrong: readonly string[];
}

/** Kills the run of a night, runs the night once more, and compares all there is with what nobody disturbed. */
async function killAndRun(installation: Installation, given: Kill): Promise<Aftermath> {
  const { night, moment } = given;
  const killed = await kill(installation, given);
  const clean = await startNight(installation, night).ended;
  const wrong =
    clean.code === 0
      ? [
          ...(await unrecorded(installation, killed)),
          ...differences(undisturbed[night]?.contents ?? {}, await everythingIn(installation)),
        ]
      : [`the next run ended with ${clean.code}: ${clean.err.slice(-1000)}`];
  const what = `night ${night + 1}, killed ${momentText(moment)}`;
  return { hit: killed.code === null, wrong: wrong.map((each) => `${what}: ${each}`) };
}

/** What is wrong with the ledger's entry of a killed run: it says for ever that the run did not finish. */
async function unrecorded(installation: Installation, killed: Ended): Promise<string[]> {
  // Before the one there may be no entry yet; after the other it may say already how the run ended.
  const isAmid = killed.err.includes('"run_started"') && !killed.err.includes('"kind":"parquet"');
  if (killed.code !== null || !isAmid) return [];
  const warehouse = installation.path('data', 'warehouse.duckdb');
  const found = await ask(
    warehouse,
    "select finished_at, exit_code from ripen.runs where status = 'running'",
  );
  const text = JSON.stringify(found);
  return text === '[{"finished_at":null,"exit_code":null}]' ? [] : [`unfinished runs: ${text}`];
}

/** Every lane's share of the kills, each from where the night began: nothing at all, or what the first night left. */
async function runLane(kills: readonly Kill[]): Promise<Aftermath[]> {
  const installation = await installed();
  const [data, kept] = [installation.path('data'), `${installation.directory}-kept`];
  const aftermaths: Aftermath[] = [];
  try {
    await expectSuccess(startNight(installation, 0));
    await cp(data, kept, { recursive: true });
    for (const kill of kills) {
      await rm(data, { recursive: true });
      if (kill.night > 0) await cp(kept, data, { recursive: true });
      aftermaths.push(await killAndRun(installation, kill));
    }
  } finally {
    await Promise.all([installation.close(), rm(kept, { recursive: true, force: true })]);
  }
  return aftermaths;
}

describe(`${KILLS} kills drawn from seed ${SEED}`, () => {
  test(
    'whenever a sync is killed, the next one leaves what a sync never disturbed leaves, and no other file',
    async () => {
      const kills = drawKills(KILLS);
      const lanes = Array.from({ length: LANES }, (_, lane) =>
        runLane(kills.filter((_, index) => index % LANES === lane)),
      );
      const aftermaths = (await Promise.all(lanes)).flat();
      expect(aftermaths.flatMap(({ wrong }) => wrong)).toStrictEqual([]);
      // A run that is faster than the one the instants were drawn from may escape the last ones.
      expect(aftermaths.filter(({ hit }) => hit).length).toBeGreaterThan(KILLS / 2);
    },
    KILLS * MS_PER_KILL,
  );
});
