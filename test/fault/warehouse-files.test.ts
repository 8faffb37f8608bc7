/** A warehouse that cannot be had: files that are none of this program are left byte for byte as they are; a holder is named, and waited for. */

import { createHash } from 'node:crypto';
import { readFile, truncate, writeFile } from 'node:fs/promises';

import { DuckDBInstance } from '@duckdb/node-api';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

import { warehouseFindings } from '../../src/report/check/warehouse.ts';
import type { FailureCode } from '../../src/errors.ts';
import { addDays, day, dayAt, UTC } from '../../src/model/calendar.ts';
import { explainPlan } from '../../src/run/plan-report.ts';
import { checkingAt } from '../support/checking.ts';
import { textWith } from '../support/matching.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls } from '../support/slice.ts';
import { failureFrom } from '../support/scripted-server.ts';
import { column } from '../support/contents.ts';
import { hold, type Holder } from '../support/lock-holder.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const daily = dailyInstalls({
  first: { day: day('2026-05-28') },
  last: { day: day('2026-05-31') },
});

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
});

/** Runs statements in a DuckDB file and closes it, its log folded in. */
async function inDatabase(path: string, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** What a sync of the scenario's warehouse is refused with, having left the service and the file alone. */
async function refusal(): Promise<object> {
  const { warehouse } = scenario.config;
  const before = await digestOf(warehouse);
  scenario.simulator.requested.reset();
  const { code, kind, message } = await failureFrom(runNight(scenario, NOW));
  expect(scenario.simulator.requested.requests).toEqual([]);
  expect(await digestOf(warehouse)).toBe(before);
  return { code, kind, message };
}

const refusedAs = (code: FailureCode, says: string) => ({
  code,
  kind: 'storage',
  message: textWith(says),
});

async function digestOf(path: string): Promise<string> {
  const bytes = await readFile(path).catch(() => '');
  return createHash('sha256').update(bytes).digest('hex');
}

const planning = () => {
  const { signal } = new AbortController();
  return { planAt: NOW, slices: null, lockWaitMs: 0, emit: () => {}, signal };
};

/** `check` and `plan` say what the sync says. */
async function saidAhead(code: FailureCode, says: string): Promise<void> {
  const found = await warehouseFindings(scenario.config, checkingAt(NOW));
  expect(found).toMatchObject([{ severity: 'error', code, message: textWith(says) }]);
  await expect(explainPlan(scenario.config, planning())).rejects.toMatchObject({
    code,
    message: textWith(says),
  });
}

const sqlite = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8192)]);

/** What lies in the place of the warehouse after `put`, and what is said of it. */
const foreign: Record<string, readonly [put: (path: string) => Promise<void>, says: string]> = {
  'a text file': [
    (path) => writeFile(path, 'day,installs\n2026-05-31,12\n'.repeat(500)),
    'warehouse.duckdb',
  ],
  'an SQLite file, for which no extension is fetched': [
    (path) => writeFile(path, sqlite),
    'warehouse.duckdb',
  ],
  "somebody else's database": [
    (path) => inDatabase(path, 'create table budget (day date)'),
    "not ripen's",
  ],
  'a stray .wal, which DuckDB would replay': [
    (path) => writeFile(`${path}.wal`, 'whatever'),
    '.wal',
  ],
};

test.each(Object.entries(foreign))(
  '%s is refused as foreign by sync, check and plan, and stays',
  async (_, row) => {
    const [put, says] = row;
    await put(scenario.config.warehouse);
    expect(await refusal()).toEqual(refusedAs('WAREHOUSE_FOREIGN', says));
    await saidAhead('WAREHOUSE_FOREIGN', says);
  },
);

test.each([
  ['cut in half', async (path: string) => truncate(path, (await readFile(path)).length / 2)],
  ['with its first 12 kB overwritten', (path: string) => overwrite(path, 0, 12_288)],
])('a warehouse %s is refused as what cannot be read', async (_, spoil) => {
  await runNight(scenario, NOW);
  await spoil(scenario.config.warehouse);
  const failure = await failureFrom(runNight(scenario, NOW));
  expect(failure.kind).toBe('storage');
  expect(failure.message).toContain(scenario.config.warehouse);
});

async function overwrite(path: string, from: number, to: number): Promise<void> {
  const bytes = await readFile(path);
  bytes.fill(0xa5, from, Math.min(to, bytes.length));
  await writeFile(path, bytes);
}

test('a warehouse of version 99 is refused with both versions, and is not migrated back', async () => {
  await runNight(scenario, NOW);
  await inDatabase(
    scenario.config.warehouse,
    "insert into ripen_internal.migrations values (99, '0099_later', now())",
  );
  expect(await refusal()).toEqual(
    refusedAs('WAREHOUSE_NEWER', 'version 99; this program supports'),
  );
});

/** Another process, which holds the warehouse that a night has left. */
async function heldAfterNight(mode: 'READ_ONLY' | 'READ_WRITE'): Promise<Holder> {
  await runNight(scenario, new Date('2026-05-31T02:30:00Z'));
  scenario.simulator.requested.reset();
  const holder = await hold(scenario.config.warehouse, mode);
  onTestFinished(() => holder.release());
  return holder;
}

test.each(['READ_ONLY', 'READ_WRITE'] as const)(
  'a warehouse another process holds %s is refused at once with --lock-wait 0, naming its process, after 0 requests',
  async (mode) => {
    const holder = await heldAfterNight(mode);
    const failure = await failureFrom(runNight(scenario, NOW));

    expect(failure).toMatchObject({ code: 'WAREHOUSE_LOCKED', kind: 'unavailable' });
    expect(failure.message).toContain(`process ${holder.pid}`);
    expect(scenario.simulator.requested.requests).toEqual([]);
  },
);

test('a run waits for a holder that lets go within --lock-wait, says whom it waits for, and then loads everything', async () => {
  const holder = await heldAfterNight('READ_WRITE');
  const summary = await runNight(scenario, NOW, {
    request: { lockWaitMs: 30_000 },
    onEvent: ({ type }) => type === 'lock_waiting' && void holder.release(),
  });

  expect(summary.failures).toEqual([]);
  const waits = scenario.events.filter(({ type }) => type === 'lock_waiting');
  expect(waits).toMatchObject([{ waitMs: 30_000 }]);
  expect(JSON.stringify(waits)).toContain(String(holder.pid));
  expect(await column(scenario, 'select count(*) from ripen.runs')).toEqual(['2']);
});

test('a backfill that waited for a sync loads its days again: it plans for the instant at which it got the warehouse', async () => {
  const today = dayAt(new Date(), UTC);
  const slices = [dailyInstalls({ first: { daysAgo: 5 }, last: { daysAgo: 1 } })];
  const request = {
    command: 'backfill',
    slices: ['daily'],
    forced: { start: addDays(today, -5), end: today },
    lockWaitMs: 30_000,
  } as const;
  const waiting: ReturnType<typeof runNight>[] = [];
  await runNight(scenario, 'now', {
    slices,
    onEvent: ({ type }) => {
      if (type === 'run_started' && waiting.length === 0)
        waiting.push(runNight(scenario, 'now', { slices, request }));
    },
  });
  expect(await waiting[0]).toMatchObject({
    status: 'succeeded',
    slices: [{ periods: { forced: 5 } }],
  });
});
