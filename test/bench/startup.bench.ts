/** What a command costs before it does anything, beside Node itself. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { median, milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { runCli, timeCli, timeNode } from './support/run-process.ts';
import { scaled } from './support/scale.ts';

const RUNS = scaled(7, 2);
const DAYS = scaled(365, 60);
const LAST_DAY = '2024-12-31';
const FIRST_NIGHT = '2025-01-01T05:00:00Z';
const NEXT_NIGHT = '2025-01-02T05:00:00Z';

let directory = '';
let config = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  config = join(directory, 'ripen.yaml');
  const firstDay = new Date(Date.parse(LAST_DAY) - (DAYS - 1) * 86_400_000).toISOString().slice(0, 10);
  await writeFile(
    config,
    `service: { simulator: { seed: 1, apps: 2, partners: 6, links: 24, rows_per_day: 60 } }
warehouse: warehouse.duckdb
partners: false
links: false
slices:
  - name: network_daily
    dimensions: [day, app_token, network, os_name, country_code]
    metrics: [installs, clicks, cost, revenue, all_revenue_total_d7, all_revenue_total_d30]
    date_period: ${firstDay}:yesterday
`,
  );
  await runCli('sync', '--config', config, '--as-of', FIRST_NIGHT, '--quiet');
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

test('commands start fast, and a night with nothing due costs little', async () => {
  const commands = {
    '`node -e 0`': async () => (await timeNode(['-e', '0'])).wallMs,
    '`ripen --version`': () => timeCli('--version'),
    '`ripen --help`': () => timeCli('--help'),
    [`\`ripen plan\`, ${DAYS} days loaded`]: () => timeCli('plan', '--config', config, '--as-of', NEXT_NIGHT),
    '`ripen sync`, nothing due': () => timeCli('sync', '--config', config, '--as-of', FIRST_NIGHT, '--quiet'),
  };
  const measured = Object.entries(commands).map(([name, run]) => ({ name, run, ms: noTimes() }));
  for (let round = 0; round < RUNS; round += 1) for (const { run, ms } of measured) ms.push(await run());

  const [node] = measured;
  const [, , help, plan, idle] = measured.map(({ ms }) => median(ms) / median(node?.ms ?? []));
  publishSection({
    name: 'startup',
    title: 'Starting a command',
    paragraphs: [
      `Whole processes, ${RUNS} of each by turns. The warehouse holds ${DAYS} days of one slice; the sync includes the start of the bundled simulator it asks.`,
    ],
    tables: [
      {
        caption: 'From start to exit.',
        columns: ['command', 'best', 'median', 'times Node itself'],
        rows: measured.map(({ name, ms }) => [
          name,
          milliseconds(Math.min(...ms)),
          milliseconds(median(ms)),
          times(median(ms) / median(node?.ms ?? [])),
        ]),
      },
    ],
    figures: {
      help_times_node: rounded(help ?? Number.NaN, 1),
      plan_times_node: rounded(plan ?? Number.NaN, 1),
      idle_sync_times_node: rounded(idle ?? Number.NaN, 1),
    },
  });

  for (const { ms } of measured) expect(ms).toHaveLength(RUNS);
});

function noTimes(): number[] {
  return [];
}
