/** FAULTS 22, 24 and 32: signals, a warehouse that somebody else holds, an output nobody reads on. */

import { readFile } from 'node:fs/promises';

import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import {
  cli,
  openInstallation,
  serviceAt,
  startProcess,
  TOKEN,
  type Installation,
  type Running,
} from '../support/installation.ts';
import { ask } from '../support/sample-warehouse.ts';

/** After a signal a run has ended by then (FAULTS 22). */
const MAX_STOPPING_MS = 20_000;

const AS_OF = ['--as-of', '2026-02-14T02:30:00Z'];
const SYNC = ['sync', ...AS_OF];

const summaryShape = z.object({
  status: z.string(),
  slices: z.array(
    z.object({
      windows: z.object({ planned: z.number(), loaded: z.number(), failed: z.number() }),
    }),
  ),
  failures: z.array(z.unknown()),
});

let simulator: Simulator;
let installation: Installation;

beforeEach(async () => {
  const world = { seed: 3, listed: [], apps: 1, partners: 2, links: 4, rowsPerDay: 20 };
  simulator = await startSimulator({ token: TOKEN, world, now: new Date('2026-02-14T02:30:00Z') });
  installation = await openInstallation();
  await installation.configure(configured());
});

const configured = () => ({
  service: { ...serviceAt(simulator.url), max_concurrency: 1 },
  warehouse: 'warehouse.duckdb',
  // Their days would hang, too.
  control: 'off',
  partners: false,
  slices: ['2026-02', '2026-01'].map((month) => ({
    name: `days_of_${month.replace('-', '_')}`,
    dimensions: ['day', 'os_name'],
    metrics: ['installs'],
    date_period: `${month}-01:${month}-07`,
  })),
});

/** The report of January never comes, whoever asks for it; the function returned lets it come. */
function hangJanuary(): () => void {
  return simulator.script({
    match: ({ query }) => query.get('date_period')?.startsWith('2026-01') ?? false,
    times: Infinity,
    fault: { kind: 'silence' },
  });
}

/** A sync that has loaded February and waits for January, which never comes. */
async function hangingSync(...options: string[]): Promise<Running> {
  const running = installation.start([...SYNC, '--verbose', ...options]);
  await running.until('days_of_2026_02 2026-02-01:2026-02-07: loaded');
  return running;
}

/** What runs the ledger holds, oldest first. */
async function runs(): Promise<unknown[]> {
  const rows = await ask(
    installation.path('warehouse.duckdb'),
    'select status, exit_code from ripen.runs order by started_at',
  );
  return rows.map((row) => [row['status'], row['exit_code']]);
}

const reportsAsked = (): number =>
  simulator.requested.requests.filter(({ path }) => path.endsWith('/report')).length;

describe('a signal in the middle, while a request hangs', () => {
  test('SIGTERM ends with 143: nothing new is asked, loaded data is kept and summed up as JSON', async () => {
    const letCome = hangJanuary();
    const running = await hangingSync('--json');
    const requested = reportsAsked();
    const killedAt = performance.now();
    running.kill('SIGTERM');
    const ended = await running.ended;
    expect(performance.now() - killedAt).toBeLessThan(MAX_STOPPING_MS);
    expect(ended.code).toBe(143);
    expect(reportsAsked()).toBe(requested);
    expect(ended.err).not.toContain('BUG');
    expect(summaryShape.parse(JSON.parse(ended.out))).toStrictEqual({
      status: 'interrupted',
      slices: [
        { windows: { planned: 1, loaded: 1, failed: 0 } },
        { windows: { planned: 1, loaded: 0, failed: 0 } },
      ],
      failures: [],
    });
    expect(await runs()).toMatchObject([['interrupted', null]]);

    letCome();
    const next = await installation.run([...SYNC, '--json']);
    expect(summaryShape.parse(JSON.parse(next.out)).slices).toStrictEqual([
      { windows: { planned: 0, loaded: 0, failed: 0 } },
      { windows: { planned: 1, loaded: 1, failed: 0 } },
    ]);
    expect(await installation.files()).toStrictEqual(['warehouse.duckdb']);
  });

  test('SIGINT ends with 130 and the summary as text', async () => {
    hangJanuary();
    const running = await hangingSync('--metrics-file', 'm.prom');
    running.kill('SIGINT');
    const { code, out } = await running.ended;
    expect(code).toBe(130);
    const metrics = await readFile(installation.path('m.prom'), 'utf8');
    expect(metrics).toContain('ripen_run_exit_code{command="sync"} 130');
    expect(metrics).toContain('ripen_run_success{command="sync"} 0');
    expect(out).toMatch(
      /days_of_2026_02 +1\/1 [^]*days_of_2026_01 +0\/1 [^]*\ninterrupted in .*, as of/,
    );
  });

  test('a second signal ends it at once, without a summary, and the next run completes what is missing', async () => {
    const letCome = hangJanuary();
    const running = await hangingSync();
    running.kill('SIGTERM');
    running.kill('SIGINT');
    const { code, out } = await running.ended;
    expect([130, 143]).toContain(code);
    expect(out).toBe('');
    letCome();
    expect((await installation.run(SYNC)).code).toBe(0);
    expect(await runs()).toStrictEqual([
      ['running', null],
      ['succeeded', 0],
    ]);
  });
});

test('`| head -1` gets its line, and the load goes on to its end with exit code 0', async () => {
  const script = '"$@" 2>&1 | head -n 1; exit "${PIPESTATUS[0]}"';
  const argv = ['-c', script, 'bash', process.execPath, cli, ...SYNC];
  const { code, out } = await startProcess('bash', argv, installation.directory).ended;
  expect(out.trim().split('\n')).toHaveLength(1);
  expect(out).toContain('sync started');
  expect(code).toBe(0);
  expect(await runs()).toStrictEqual([['succeeded', 0]]);
  expect(await installation.files()).toStrictEqual(['warehouse.duckdb']);
});
