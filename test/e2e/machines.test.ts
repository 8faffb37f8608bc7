/** What machines are told by the command line: metrics, notifications, gates, and a status while a run is under way. */

import { readFile, readdir, stat } from 'node:fs/promises';

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { hold } from '../support/lock-holder.ts';
import { openInstallation, type Installation } from '../support/installation.ts';
import { startScriptedServer } from '../support/scripted-server.ts';

const daily = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs'],
  date_period: '-9d:yesterday',
};
const settings = {
  service: { simulator: { seed: 3, apps: 1, rows_per_day: 20, partners: 3, links: 3 } },
  warehouse: 'data/w.duckdb',
  publish: [{ duckdb: 'analytics/a.duckdb' }],
  partners: false,
  defaults: { reattributed: 'all' },
  slices: [daily],
};
/** Refused by the service by name, so that a run fails without a wait. */
const failing = {
  ...settings,
  slices: [daily, { ...daily, name: 'wrong', metrics: ['installs', 'no_such_metric'] }],
};

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

const textOf = ({ body }: { readonly body: string }): string =>
  z.strictObject({ text: z.string() }).parse(JSON.parse(body)).text;

/** Metrics by name and labels, each line checked against the format. */
async function metricsIn(path: string): Promise<Map<string, number>> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  expect(lines.pop()).toBe('');
  const samples = lines.filter((line) => !line.startsWith('#'));
  for (const line of samples)
    expect(line).toMatch(/^ripen_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?\d+(\.\d+)?$/);
  const names = new Set(samples.map((line) => /^[a-z_]+/.exec(line)?.[0]));
  for (const name of names) expect(lines).toContain(`# TYPE ${name} gauge`);
  return new Map(
    samples.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' '))),
    ]),
  );
}

test('ripen sync --metrics-file writes freshness, finality, rows, requests, failures, unproven and restated, for others to read; status answers from the snapshot while another process writes the warehouse', async () => {
  await installation.configure(settings);
  const { code, out } = await installation.run(['sync', '--json', '--metrics-file', 'm.prom']);
  expect(code).toBe(0);
  const summary = z
    .object({
      service: z.object({ requests: z.number() }),
      slices: z.array(z.object({ rows: z.object({ loaded: z.number() }) })),
    })
    .parse(JSON.parse(out));
  const metrics = await metricsIn(installation.path('m.prom'));
  expect(metrics.get('ripen_run_success{command="sync"}')).toBe(1);
  expect(metrics.get('ripen_run_requests{command="sync"}')).toBe(summary.service.requests);
  expect(metrics.get('ripen_run_rows{slice="daily",state="loaded"}')).toBe(
    summary.slices[0]?.rows.loaded,
  );
  expect(metrics.get('ripen_run_failures{command="sync",code="all"}')).toBe(0);
  expect(metrics.get('ripen_run_restated_periods{slice="daily"}')).toBe(0);
  expect(metrics.get('ripen_slice_unproven_periods{slice="daily"}')).toBe(0);
  expect(metrics.get('ripen_slice_cells{slice="daily"}')).toBe(9);
  expect(metrics.get('ripen_slice_final_cells{slice="daily"}')).toBeLessThan(9);
  expect(metrics.get('ripen_health{state="well"}')).toBe(1);
  const yesterday = Date.parse(new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)) / 1000;
  expect(metrics.get('ripen_slice_newest_period_timestamp_seconds{slice="daily"}')).toBe(yesterday);
  expect(
    Math.abs(
      (metrics.get('ripen_slice_fetched_timestamp_seconds{slice="daily"}') ?? 0) -
        Date.now() / 1000,
    ),
  ).toBeLessThan(600);
  expect((await stat(installation.path('m.prom'))).mode & 0o044).toBe(0o044);
  expect(
    (await readdir(installation.directory)).filter((name) => name.includes('unfinished')),
  ).toStrictEqual([]);

  const holder = await hold(installation.path('data', 'w.duckdb'), 'READ_WRITE');
  try {
    const startedAt = performance.now();
    const text = await installation.run(['status']);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect([
      text.code,
      text.out.includes('a.duckdb, the published copy, as a run holds'),
    ]).toStrictEqual([0, true]);
    const json: unknown = JSON.parse((await installation.run(['status', '--json'])).out);
    expect(json).toMatchObject({
      snapshot: installation.path('analytics', 'a.duckdb'),
      slices: [{ periods: { loaded: 9 } }],
      // The run that made the copy had loaded everything, and was not over.
      runs: [{ status: 'succeeded', finished_at: null, failures: [] }],
      health: { state: 'well' },
    });
    await installation.configure({ ...settings, publish: [] });
    expect((await installation.run(['status', '--lock-wait', '0s'])).code).toBe(75);
  } finally {
    await holder.release();
  }
});

test('notify tells success and failure to whom they are for, recovery once, and no address or token to anybody; `status --fail-on` is the gate beside', async () => {
  const { origin, received } = await startScriptedServer(() => ({ status: 200, body: 'ok' }));
  const notify = [
    { url: `${origin}/ping/0a1b2c3d4e`, on: ['succeeded'] },
    { url: `${origin}/hook/0a1b2c3d4e?x=1` },
  ];
  const told = (): string[] => received.map(({ target }) => target);
  await installation.configure({ ...failing, notify });
  const gate = async (state: string): Promise<number | null> =>
    (await installation.run(['status', '--fail-on', state])).code;
  expect([await gate('watch'), await gate('failed')]).toStrictEqual([65, 0]);
  const failed = await installation.run(['sync']);
  expect([failed.code, told()]).toStrictEqual([78, ['/hook/0a1b2c3d4e?x=1']]);
  const [first] = received;
  expect(first).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
  expect(textOf(first ?? { body: '' })).toMatch(
    /^ripen sync on .*, as of .*: partial, \d+ rows; \d+ failures? \(exit 78\), run [\w-]+\n[A-Z_]+: /,
  );
  const shown = await installation.run(['status', '--fail-on', 'failed', '--json']);
  expect(shown.code).toBe(65);
  expect(JSON.parse(shown.out)).toMatchObject({ health: { state: 'failed' } });
  await installation.configure({ ...settings, notify });
  await installation.run(['sync']);
  expect(await gate('watch')).toBe(0);
  expect(told().slice(1).sort()).toStrictEqual(['/hook/0a1b2c3d4e?x=1', '/ping/0a1b2c3d4e']);
  const again = await installation.run(['sync', '--log', 'json']);
  expect(told().slice(3)).toStrictEqual(['/ping/0a1b2c3d4e']);
  for (const { out, err } of [failed, again]) expect(out + err).not.toContain('0a1b2c3d4e');
  expect(received.map(({ body }) => body).join('')).not.toMatch(/0a1b2c3d4e|mark3d/);
});
