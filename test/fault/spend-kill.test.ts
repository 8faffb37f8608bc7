/**
 * Faults, row 34: a process killed 4 times while it sends 1,500 lines.
 *
 * The process is a real one, so the program has to be built: `npm test` does so first. The simulator lives on in the
 * test and knows what it accepted, which no caller can ask it.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { csvOf, goodLine, NOW, openDesk, type SpendDesk } from '../support/spend-desk.ts';

const LINES = 1500;
const KILLS = 4;
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

/** Sends the file of argv and prints the summary. */
const program = (root: string): string => `
import { Secret } from '${root}dist/config/secret.js';
import { connect } from '${root}dist/service/connect.js';
import { sendSpend } from '${root}dist/spend/send-spend.js';
import { openWarehouse } from '${root}dist/warehouse/opening.js';
const [directory, url, resend] = process.argv.slice(1);
const emit = () => {};
const costHeaders = { Authorization: new Secret('Partner simulator') };
const service = connect({ kind: 'http', baseUrl: url, reportsUrl: url, costUrl: url, token: new Secret('unused-token'),
  headers: {}, costHeaders, caFile: null, maxConcurrency: 8, maxStartsPerSecond: 100000, campaignConcurrency: 1,
  requestTimeoutMs: 30000, maxResponseBytes: 1000000 }, emit);
const warehouse = await openWarehouse(directory + '/warehouse.duckdb', { mode: 'write', lockWaitMs: 10000, emit });
const request = { file: directory + '/f.csv', dryRun: false, resendUnknown: resend === 'resend', now: new Date('${NOW.toISOString()}') };
const summary = await sendSpend(request, { warehouse, service, emit, signal: new AbortController().signal });
await warehouse.close();
await service.close();
console.log(JSON.stringify(summary));
`;

let desk: SpendDesk;
let simulator: Simulator;
let child: ChildProcess | null;

beforeEach(async () => {
  desk = await openDesk();
  simulator = await startSimulator({ world: { apps: 1, partners: 1, links: 2, rowsPerDay: 1 }, answerDelayMs: 2 });
  child = null;
});

afterEach(async () => {
  child?.kill('SIGKILL');
});

function start(resend = ''): { readonly child: ChildProcess; readonly printed: () => string } {
  const root = new URL('../../', import.meta.url);
  const args = ['--input-type=module', '-e', program(root.href), desk.directory, simulator.url, resend];
  const started = spawn(process.execPath, args, { cwd: fileURLToPath(root), stdio: ['ignore', 'pipe', 'inherit'] });
  child = started;
  let printed = '';
  started.stdout.on('data', (part: Buffer) => (printed += part.toString('utf8')));
  return { child: started, printed: () => printed };
}

async function finish(resend = ''): Promise<z.infer<typeof summaryShape>> {
  const run = start(resend);
  await once(run.child, 'close');
  return summaryShape.parse(JSON.parse(run.printed()));
}

/** Kills a run once the service has accepted so many Cost IDs, at another point of its work every time. */
async function killAt(accepted: number, afterMs: number): Promise<void> {
  const run = start();
  const ended = once(run.child, 'close');
  while (simulator.acceptedSpend.size < accepted && run.child.exitCode === null) await sleep(1);
  await sleep(afterMs);
  run.child.kill('SIGKILL');
  const [, signal] = z.tuple([z.unknown(), z.unknown()]).parse(await ended);
  expect(signal).toBe('SIGKILL');
}

const costIdOf = (index: number): string => `sender-${String(index).padStart(6, '0')}`;
const isBad = (index: number): boolean => index % BAD_ONE_IN === 7;

/** 1,440 good lines, and 60 that break one rule each. */
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
  '1,500 lines, 60 of them bad, through 4 kills: what is told as accepted was accepted once, the rest is told as unknown',
  { timeout: 240_000 },
  async () => {
    await desk.write('f.csv', csvOf(lines()));
    const good = lines().flatMap((_, index) => (isBad(index) ? [] : [costIdOf(index)]));
    for (let kill = 1; kill <= KILLS; kill += 1) await killAt(kill * 300, kill % 4);

    const summary = await finish();
    expect(summary.rejected).toBe(60);
    expect(summary.accepted + summary.already_accepted + summary.unknown).toBe(good.length);
    expect(summary.failures.map(({ code }) => code)).toEqual(['SPEND_REJECTED', 'SPEND_UNKNOWN']);
    expect(await desk.rejects(`${desk.directory}/f.csv`)).toHaveLength(60);

    // Nothing was sent twice, and nothing bad was sent.
    const counts = simulator.acceptedSpend;
    expect([...counts].filter(([, times]) => times !== 1)).toEqual([]);
    expect([...counts.keys()].filter((costId) => !good.includes(costId))).toEqual([]);

    const ledger = await desk.ledger();
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

    const resent = await finish('resend');
    expect(resent).toMatchObject({ accepted: unknown.length, already_accepted: accepted.length, unknown: 0 });
    expect(good.filter((costId) => (simulator.acceptedSpend.get(costId) ?? 0) < 1)).toEqual([]);
    expect(accepted.filter((costId) => simulator.acceptedSpend.get(costId) !== 1)).toEqual([]);
    expect(unknown.filter((costId) => (simulator.acceptedSpend.get(costId) ?? 0) > 2)).toEqual([]);
  },
);
