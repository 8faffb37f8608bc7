/**
 * The process is killed at the steps of one batch: the transaction that replaces several windows, and what is around it.
 * Each window is then whole, new or as it was, and the next run completes the night.
 *
 * Every third step; `RIPEN_BATCH_KILLS=1` takes each of them.
 */

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { contentsOf, differences, rowsOf } from '../support/installation-contents.ts';
import { openInstallation, serviceAt, TOKEN, type Ended, type Installation } from '../support/installation.ts';
import { writeKillHook, type KillHook } from '../support/kill-hook.ts';

const EVERY = Number(process.env['RIPEN_BATCH_KILLS'] ?? 6);
/** Far more than two nights take on a busy machine. */
const MS_PER_KILL = 20_000;

/** A first load of sixteen windows, and a night in which periods of several ages are due. */
const nights = ['2026-02-14T02:30:00Z', '2026-02-15T02:30:00Z'] as const;

const settings = {
  service: serviceAt('${SERVICE}'),
  warehouse: 'data/warehouse.duckdb',
  partners: false,
  audit: 0,
  slices: [
    {
      name: 'daily',
      dimensions: ['day', 'os_name', 'country_code'],
      metrics: ['installs', 'cost', 'all_revenue_total_d7', 'all_revenue_total_d30'],
      date_period: '-110d:yesterday',
    },
  ],
};

const simulators: Simulator[] = [];
let installation: Installation;
let folder = '';
let hook: KillHook;

beforeAll(async () => {
  for (const asOf of nights) {
    const world = { seed: 5, apps: 1, partners: 3, links: 6, rowsPerDay: 20 };
    simulators.push(await startSimulator({ token: TOKEN, world, now: new Date(asOf) }));
  }
  installation = await openInstallation();
  await installation.configure(settings);
  folder = await mkdtemp(join(tmpdir(), 'ripen-batch-kills-'));
  hook = await writeKillHook(join(folder, 'kill'));
});

afterAll(async () => {
  await Promise.all([installation.close(), ...simulators.map((simulator) => simulator.close())]);
  await rm(folder, { recursive: true, force: true });
});

function runNight(night: number, environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const argv = ['sync', '--as-of', nights[night] ?? '', '--log', 'json', '--lock-wait', '5s'];
  return installation.run(argv, { SERVICE: simulators[night]?.url ?? '', ...environment });
}

/** From shortly before the first row is touched to the step behind the last commit of a batch. */
function stepsOfBatches(kinds: readonly string[]): number[] {
  const first = kinds.indexOf('delete from main."daily"') - 4;
  const last = kinds.findLastIndex((kind) => kind === 'insert into ripen.loads');
  const end = kinds.findIndex((kind, at) => at > last && kind === 'commit') + 2;
  return Array.from({ length: end - first }, (_, nth) => first + nth + 1);
}

/** Windows that are neither as they were nor new: rows outside of any period, or another number than the ledger has. */
async function torn(): Promise<unknown[]> {
  const warehouse = installation.path('data', 'warehouse.duckdb');
  const tables = await rowsOf(warehouse, "select 1 from duckdb_tables() where table_name = 'daily'");
  if (tables.length === 0) return rowsOf(warehouse, 'select * from ripen.periods');
  return rowsOf(
    warehouse,
    `select coalesce(p.start_day, r.day) as day, p.rows as told, r.rows as stored
     from ripen.periods as p full join (select day, count(*) as rows from main.daily group by day) as r on r.day = p.start_day
     where p.rows is distinct from coalesce(r.rows, 0)`,
  );
}

test.each([
  ['a first load', 0],
  ['a night that replaces periods of several ages', 1],
] as const)(
  'at whichever step of its batch %s is killed, every window is whole, and the next run completes it',
  async (_, night) => {
    const data = installation.path('data');
    const warehouse = installation.path('data', 'warehouse.duckdb');
    const before = join(folder, `before-${night}`);
    await rm(data, { recursive: true, force: true });
    const first = night === 1 ? await runNight(0) : { code: 0 };
    expect(first.code).toBe(0);
    const begin = async (): Promise<void> => {
      await rm(data, { recursive: true, force: true });
      if (night === 1) await cp(before, data, { recursive: true });
    };
    if (night === 1) await cp(data, before, { recursive: true });
    expect((await runNight(night, hook.recording)).code).toBe(0);
    const undisturbed = await contentsOf(warehouse);
    const steps = stepsOfBatches(await hook.recorded());
    expect(steps.length).toBeGreaterThan(8);

    const wrong: string[] = [];
    let hits = 0;
    for (const step of steps.filter((_, nth) => nth % EVERY === 0)) {
      await begin();
      const killed = await runNight(night, hook.killingBefore(step));
      hits += killed.code === null ? 1 : 0;
      const found = [
        ...(await torn()).map((row) => `torn ${JSON.stringify(row)}`),
        ...((await runNight(night)).code === 0 ? [] : ['the next run failed']),
        ...differences(undisturbed, await contentsOf(warehouse)),
      ];
      wrong.push(...found.map((each) => `killed before step ${step}: ${each}`));
    }
    expect(wrong).toEqual([]);
    expect(hits).toBeGreaterThan(2);
  },
  60 * MS_PER_KILL,
);
