/**
 * The process is killed while answers are written into the archive, and while they are replayed: a replay into a new warehouse
 * then brings each day as one of the nights had it, and never an older one over a newer.
 *
 * A few of the steps; `RIPEN_ARCHIVE_KILLS=1000` takes each of them.
 */

import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { contentsOf, differences, rowsOf } from '../support/installation-contents.ts';
import { openInstallation, serviceAt, TOKEN, type Ended, type Installation } from '../support/installation.ts';
import { writeKillHook, type KillHook } from '../support/kill-hook.ts';

const MOST = Number(process.env['RIPEN_ARCHIVE_KILLS'] ?? 3);
/** Far more than four commands take on a busy machine. */
const MS_PER_KILL = 40_000;

const nights = ['2026-02-14T02:30:00Z', '2026-02-15T02:30:00Z'] as const;

const settings = {
  service: serviceAt('${SERVICE}'),
  warehouse: 'data/warehouse.duckdb',
  archive: '30d',
  partners: false,
  audit: 0,
  slices: [
    {
      name: 'daily',
      dimensions: ['day', 'os_name'],
      metrics: ['installs', 'cost', 'all_revenue_total_d7'],
      date_period: '-9d:yesterday',
      refresh: 'nightly',
    },
  ],
};

const simulators: Simulator[] = [];
let installation: Installation;
let folder = '';
let hook: KillHook;
let warehouse = '';

/** The installation's data after each night. */
const after = (night: number): string => join(folder, `after-${night}`);

beforeAll(async () => {
  for (const asOf of nights) {
    const world = { seed: 5, apps: 1, partners: 3, links: 6, rowsPerDay: 20 };
    simulators.push(await startSimulator({ token: TOKEN, world, now: new Date(asOf) }));
  }
  installation = await openInstallation();
  await installation.configure(settings);
  warehouse = installation.path('data', 'warehouse.duckdb');
  folder = await mkdtemp(join(tmpdir(), 'ripen-archive-kills-'));
  hook = await writeKillHook(join(folder, 'kill'));
  for (const night of nights.keys()) {
    const { code, err } = await runNight(night, hook.recording);
    if (code !== 0) throw new Error(`the night ended with ${code}: ${err}`);
    await cp(installation.path('data'), after(night), { recursive: true });
  }
});

afterAll(async () => {
  await Promise.all([installation.close(), ...simulators.map((simulator) => simulator.close())]);
  await rm(folder, { recursive: true, force: true });
});

function runNight(night: number, environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const argv = ['sync', '--as-of', nights[night] ?? '', '--log', 'json', '--lock-wait', '5s'];
  return installation.run(argv, { SERVICE: simulators[night]?.url ?? '', ...environment });
}

const replay = (environment: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  installation.run(['replay', '--log', 'json', '--lock-wait', '5s'], { SERVICE: 'http://127.0.0.1:9', ...environment });

async function beginAfter(night: number): Promise<void> {
  await rm(installation.path('data'), { recursive: true, force: true });
  await cp(after(night), installation.path('data'), { recursive: true });
}

/** Takes the warehouse away, to a place of its own; the archive stays. */
async function takeWarehouse(): Promise<() => Promise<void>> {
  const kept = join(folder, 'kept');
  await rm(kept, { recursive: true, force: true });
  await mkdir(kept);
  const names = ['', '.wal'];
  for (const ending of names) await rename(`${warehouse}${ending}`, join(kept, `w${ending}`)).catch(() => {});
  return async () => {
    for (const ending of names) await rm(`${warehouse}${ending}`, { force: true });
    for (const ending of names) await rename(join(kept, `w${ending}`), `${warehouse}${ending}`).catch(() => {});
  };
}

const sql =
  'select day::varchar as day, list(d order by os_name)::varchar as rows from (select * exclude (_load_id) from main.daily) as d group by day';

/** By day, its rows as text. */
async function rowsByDay(path: string): Promise<Map<string, unknown>> {
  return new Map((await rowsOf(path, sql)).map(({ day, rows }) => [String(day), rows]));
}

/** Evenly over a stretch of steps, at most so many; the first and the last among them. */
function someOf(first: number, end: number): number[] {
  const count = Math.min(MOST, end - first);
  return [
    ...new Set(Array.from({ length: count }, (_, nth) => first + Math.round((nth * (end - 1 - first)) / (count - 1)))),
  ];
}

const ofFiles = /^(?:chmod|mkdir|open|rename|rm|rmdir|sync|write|writeFile)$/;

test(
  'killed while it archives, a night is replayed into a new warehouse by whole days of one night each, and completed',
  async () => {
    const kinds = await hook.recorded();
    const loaded = kinds.indexOf('commit', kinds.lastIndexOf('insert into ripen.loads'));
    const made = kinds.indexOf('mkdir', loaded);
    const end = kinds.findIndex((kind, at) => at > made && !ofFiles.test(kind));
    expect(kinds.slice(made, end)).toContain('rename');
    const [older, newer] = [
      await rowsByDay(join(after(0), 'warehouse.duckdb')),
      await rowsByDay(join(after(1), 'warehouse.duckdb')),
    ];
    const undisturbed = await contentsOf(join(after(1), 'warehouse.duckdb'));
    const wrong: string[] = [];
    const broughtNew: number[] = [];
    for (const step of someOf(made + 1, end + 1)) {
      await beginAfter(0);
      expect((await runNight(1, hook.killingBefore(step))).code).toBe(null);
      const putBack = await takeWarehouse();
      expect((await replay()).code).toBe(0);
      const days = await rowsByDay(warehouse);
      for (const day of older.keys()) if (!days.has(day)) wrong.push(`killed before step ${step}: ${day} is missing`);
      for (const [day, rows] of days) {
        if (rows !== older.get(day) && rows !== newer.get(day))
          wrong.push(`killed before step ${step}: ${day} is of no night`);
      }
      broughtNew.push([...days].filter(([day, rows]) => rows === newer.get(day) && rows !== older.get(day)).length);
      await putBack();
      for (const again of [() => runNight(1), replay]) {
        expect((await again()).code).toBe(0);
        wrong.push(
          ...differences(undisturbed, await contentsOf(warehouse)).map((each) => `killed before step ${step}: ${each}`),
        );
      }
    }
    expect(wrong).toEqual([]);
    expect(new Set(broughtNew).size).toBeGreaterThan(1);
  },
  20 * MS_PER_KILL,
);
