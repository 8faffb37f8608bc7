/**
 * FAULTS 23: a disk that fills up under the ledger, the spool, the commit or the snapshot, by way of a small file
 * system of its own.
 *
 * Mounting one needs the rights to do so; without them the tests are skipped and say why.
 */

import { spawnSync } from 'node:child_process';
import { mkdir, open, rm, statfs } from 'node:fs/promises';

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { contentsOf, differences, everythingIn } from '../support/installation-contents.ts';
import {
  openInstallation,
  serviceAt,
  TOKEN,
  type Ended,
  type Installation,
} from '../support/installation.ts';

/** Room for a warehouse, its snapshot, its lake, and the snapshot that is being made. */
const DISK_MIB = 64;
const KIB = 1024;
const BALLAST = 'data/ballast';

/** So near that the catalog is not asked for again: nothing is written before the first answer but the run's entry. */
const hours = ['2026-02-14T02:30:00Z', '2026-02-14T12:30:00Z'] as const;

const settings = {
  service: serviceAt('${SERVICE}'),
  warehouse: 'data/warehouse.duckdb',
  publish: [{ duckdb: 'data/snapshot.duckdb' }, { parquet: 'data/lake' }],
  partners: false,
  slices: [
    {
      name: 'daily',
      dimensions: ['day', 'app_token', 'partner_name', 'os_name', 'country_code'],
      metrics: ['installs', 'clicks', 'cost'],
      date_period: '-14d:yesterday',
      refresh: 'nightly',
    },
  ],
};

const summaryShape = z.object({
  status: z.string(),
  slices: z.tuple([z.object({ windows: z.object({ loaded: z.number() }) })]).optional(),
  failures: z.array(z.object({ code: z.string() })).nonempty(),
});

let simulators: readonly Simulator[] = [];
let undisturbed: Record<string, string> = {};
const installations: Installation[] = [];

beforeAll(async () => {
  const world = { seed: 5, listed: [], apps: 2, partners: 3, links: 12, rowsPerDay: 150 };
  simulators = await Promise.all(
    hours.map((asOf) => startSimulator({ token: TOKEN, world, gzip: false, now: new Date(asOf) })),
  );
  const installation = await installed();
  for (const hour of hours.keys()) await synced(installation, hour);
  undisturbed = await everythingIn(installation);
});

afterEach(async () => {
  for (const installation of installations.splice(0)) {
    spawnSync('umount', ['--lazy', installation.path('data')]);
  }
});

afterAll(async () => {
  await Promise.all(simulators.map((simulator) => simulator.close()));
});

async function installed(): Promise<Installation> {
  const installation = await openInstallation();
  installations.push(installation);
  await installation.configure(settings);
  await mkdir(installation.path('data'));
  return installation;
}

/** Null when it could be mounted, else why it could not. */
function mountSmallDisk(path: string): string | null {
  const argv = ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', path];
  const { status, error, stderr } = spawnSync('mount', argv, { encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.trim());
}

function sync(installation: Installation, hour: number): Promise<Ended> {
  return installation.run(['sync', '--json', '--as-of', hours[hour] ?? ''], {
    SERVICE: simulators[hour]?.url ?? '',
  });
}

async function synced(installation: Installation, hour: number): Promise<void> {
  const { code, err } = await sync(installation, hour);
  if (code !== 0) throw new Error(`a run with room enough ended with ${code}: ${err}`);
}

async function fillBut(installation: Installation, freeBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(installation.path('data'));
  const file = await open(installation.path(BALLAST), 'w');
  const block = Buffer.alloc(64 * KIB);
  for (let left = bavail * bsize - freeBytes; left > 0; left -= block.length) {
    await file.write(block, 0, Math.min(left, block.length));
  }
  await file.close();
}

/** How a run sums itself up; `loaded` is null for one that could not be entered in the ledger, and so did not begin. */
function toldBy(out: string): { status: string; loaded: number | null; codes: readonly string[] } {
  const { status, slices, failures } = summaryShape.parse(JSON.parse(out));
  return {
    status,
    loaded: slices?.[0].windows.loaded ?? null,
    codes: [...new Set(failures.map(({ code }) => code))],
  };
}

/** Also when the database itself failed amid the run, and can no longer be written. */
const nothingLoaded = { status: 'failed', loaded: 0, codes: ['STORAGE_FAILED'] };
const allLoaded = { status: 'partial', loaded: 1, codes: ['STORAGE_FAILED'] };

test('a disk too full for an answer, then for the commit of a load, then for the snapshot: exit code 74, the old snapshot served; with room again the next run completes', async ({
  skip,
}) => {
  const installation = await installed();
  const whyNot = mountSmallDisk(installation.path('data'));
  if (whyNot !== null) skip(`no small file system could be mounted: ${whyNot}`);
  await synced(installation, 0);
  const snapshot = installation.path('data', 'snapshot.duckdb');
  const before = await contentsOf(snapshot);
  const files = await installation.files();

  for (const [freeKib, summary] of [
    [128, nothingLoaded],
    [400, nothingLoaded],
    [2560, allLoaded],
  ] as const) {
    await fillBut(installation, freeKib * KIB);
    const { code, err, out } = await sync(installation, 1);
    expect(err.match(/STORAGE_FAILED: The disk of \S+ was full/g), `${freeKib}`).toHaveLength(1);
    expect(code).toBe(74);
    expect(toldBy(out), `${freeKib}`).toStrictEqual(summary);
    expect(differences(before, await contentsOf(snapshot))).toStrictEqual([]);
    const besides = (await installation.files()).filter((file) => !files.includes(file));
    // The log is the warehouse's own: what a checkpoint could not move is still in it.
    expect(besides.filter((file) => file !== 'data/warehouse.duckdb.wal')).toStrictEqual([BALLAST]);
    await rm(installation.path(BALLAST));
  }
  await synced(installation, 1);
  expect(differences(undisturbed, await everythingIn(installation))).toStrictEqual([]);
});
