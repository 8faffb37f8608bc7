/**
 * Faults, row 34: a process killed 3 times while it sends 600 lines.
 *
 * The process is a real one, so the program has to be built: `npm test` does so first. The simulator lives on in the
 * test and knows what it accepted, which no caller can ask it.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { cli, type Running, serviceAt, startProcess } from '../support/installation.ts';
import {
  csvOf,
  goodLine,
  NOW,
  openSpendFixture,
  type SpendFixture,
} from '../support/spend-fixture.ts';

const LINES = 600;
const KILLS = 3;
/** One line in so many is bad. */
const BAD_ONE_IN = 25;
/** Lines that are on the wire together. */
const AT_ONCE = 8;

const summaryShape = z.object({
  rejected: z.number(),
  accepted: z.number(),
  already_accepted: z.number(),
  unknown: z.number(),
  failures: z.array(z.object({ code: z.string() })),
});

let fixture: SpendFixture;
let simulator: Simulator;

beforeEach(async () => {
  fixture = await openSpendFixture();
  simulator = await startSimulator({
    world: { apps: 1, partners: 1, links: 2, rowsPerDay: 1 },
    answerDelayMs: 2,
  });
  const service = {
    ...serviceAt(simulator.url),
    cost_headers: { Authorization: 'Partner simulator' },
  };
  const slices = [
    { name: 's', dimensions: ['day'], metrics: ['installs'], date_period: '-3d:yesterday' },
  ];
  await fixture.write(
    'ripen.yaml',
    JSON.stringify({ service, warehouse: 'warehouse.duckdb', slices }),
  );
});

function start(...more: readonly string[]): Running {
  const argv = [
    'spend',
    'send',
    '--file',
    'f.csv',
    '--json',
    '--as-of',
    NOW.toISOString(),
    ...more,
  ];
  return startProcess(process.execPath, [cli, ...argv], fixture.directory);
}

async function finish(...more: readonly string[]): Promise<z.infer<typeof summaryShape>> {
  const { out } = await start(...more).ended;
  return summaryShape.parse(JSON.parse(out.trim().split('\n').at(-1) ?? ''));
}

/** Kills a run once the service has accepted so many Cost IDs, at another point of its work every time. */
async function killAt(accepted: number, afterMs: number): Promise<void> {
  const run = start();
  while (simulator.acceptedSpend.size < accepted) await sleep(1);
  await sleep(afterMs);
  run.kill('SIGKILL');
  expect((await run.ended).code).toBeNull();
}

const costIdOf = (index: number): string => `sender-${String(index).padStart(6, '0')}`;
const isBad = (index: number): boolean => index % BAD_ONE_IN === 7;

/** 576 good lines, and 24 that break one rule each. */
function lines(): Readonly<Record<string, string>>[] {
  const breaks = [{ cost_amount: '-1' }, { cost_currency: 'US' }, { tag: '' }];
  return Array.from({ length: LINES }, (_, index) => ({
    ...goodLine,
    cost_id: costIdOf(index),
    cost_amount: `${index}.50`,
    ...(isBad(index) ? breaks[Math.floor(index / BAD_ONE_IN) % breaks.length] : {}),
  }));
}

test(
  '600 lines, 24 of them bad, through 3 kills: what is told as accepted was accepted once, the rest is told as unknown',
  { timeout: 240_000 },
  async () => {
    await fixture.write('f.csv', csvOf(lines()));
    const good = lines().flatMap((_, index) => (isBad(index) ? [] : [costIdOf(index)]));
    for (let kill = 1; kill <= KILLS; kill += 1) await killAt(kill * 150, kill % 4);

    const summary = await finish();
    expect(summary.rejected).toBe(LINES / BAD_ONE_IN);
    expect(summary.accepted + summary.already_accepted + summary.unknown).toBe(good.length);
    expect(summary.failures.map(({ code }) => code)).toEqual(['SPEND_REJECTED', 'SPEND_UNKNOWN']);
    expect(await fixture.rejects(`${fixture.directory}/f.csv`)).toHaveLength(LINES / BAD_ONE_IN);

    // Nothing was sent twice, and nothing bad was sent.
    const counts = simulator.acceptedSpend;
    expect([...counts].filter(([, times]) => times !== 1)).toEqual([]);
    expect([...counts.keys()].filter((costId) => !good.includes(costId))).toEqual([]);

    const ledger = await fixture.ledger();
    const withOutcome = (outcome: string): string[] =>
      ledger.filter((row) => row.outcome === outcome).map((row) => row.cost_id);
    const [accepted, unknown] = [withOutcome('accepted'), withOutcome('unknown')];
    expect([...accepted, ...unknown].toSorted()).toEqual(good.toSorted());
    expect(accepted.filter((costId) => counts.get(costId) !== 1)).toEqual([]);
    // Each kill left in doubt what was on the wire, and no more.
    expect(unknown).toHaveLength(summary.unknown);
    expect(unknown.length).toBeGreaterThan(0);
    expect(unknown.length).toBeLessThanOrEqual(KILLS * AT_ONCE);
    expect(good.filter((costId) => !counts.has(costId) && !unknown.includes(costId))).toEqual([]);

    const resent = await finish('--resend-unknown');
    expect(resent).toMatchObject({
      accepted: unknown.length,
      already_accepted: accepted.length,
      unknown: 0,
    });
    expect(good.filter((costId) => (simulator.acceptedSpend.get(costId) ?? 0) < 1)).toEqual([]);
    expect(accepted.filter((costId) => simulator.acceptedSpend.get(costId) !== 1)).toEqual([]);
    expect(unknown.filter((costId) => (simulator.acceptedSpend.get(costId) ?? 0) > 2)).toEqual([]);
  },
);
