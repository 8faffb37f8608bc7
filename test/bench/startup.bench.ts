/** What a command costs before it does anything, beside Node itself. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { runCli, runNode, type Used } from './support/run-process.ts';
import { scaled } from './support/scale.ts';

const RUNS = scaled(7, 2);
const DAYS = scaled(1000, 60);
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
    `service: { simulator: { seed: 1, apps: 2, partners: 6, links: 24, rows_per_day: 10 } }
warehouse: warehouse.duckdb
partners: false
links: false
slices:
${['os_name', 'country_code', 'network'].map((dimension) => sliceText(dimension, firstDay)).join('')}`,
  );
  await runCli('sync', '--config', config, '--as-of', FIRST_NIGHT, '--quiet');
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

test('commands start fast, and a night with nothing due costs little', async () => {
  const commands = {
    '`node -e 0`': async () => runNode('-e', '0'),
    '`ripen --version`': async () => runCli('--version'),
    '`ripen --help`': async () => runCli('--help'),
    [`\`ripen plan\`, 3 slices of ${DAYS} days`]: async () => runCli('plan', '--config', config, '--as-of', NEXT_NIGHT),
    '`ripen sync`, nothing due': async () => runCli('sync', '--config', config, '--as-of', FIRST_NIGHT, '--quiet'),
  };
  const measured = Object.entries(commands).map(([name, run]) => ({ name, run, used: noRuns() }));
  for (let round = 0; round < RUNS; round += 1) for (const { run, used } of measured) used.push(await run());

  const wall = (used: readonly Used[]): number => Math.min(...used.map(({ wallMs }) => wallMs));
  const cpu = (used: readonly Used[]): number => Math.min(...used.map(({ cpuMs }) => cpuMs));
  const node = measured[0]?.used ?? [];
  const [, , help = Number.NaN, plan = Number.NaN, idle = Number.NaN] = measured.map(
    ({ used }) => wall(used) / wall(node),
  );
  publishSection({
    name: 'startup',
    title: 'Starting a command',
    paragraphs: [
      `Whole processes, ${RUNS} of each by turns. The warehouse holds ${DAYS} days of three slices; the sync includes the start of the bundled simulator it asks.`,
    ],
    tables: [
      {
        caption: 'From start to exit, best; the last column compares processor time of all threads.',
        columns: ['command', 'best', 'processor', 'times Node itself', 'by processor'],
        rows: measured.map(({ name, used }) => [
          name,
          milliseconds(wall(used)),
          milliseconds(cpu(used)),
          times(wall(used) / wall(node)),
          times(cpu(used) / cpu(node)),
        ]),
      },
    ],
    figures: {
      help_times_node: rounded(help, 1),
      plan_times_node: rounded(plan, 1),
      idle_sync_times_node: rounded(idle, 1),
    },
  });

  for (const { used } of measured) expect(used).toHaveLength(RUNS);
});

function sliceText(dimension: string, firstDay: string): string {
  return `  - name: ${dimension}_daily
    dimensions: [day, ${dimension}]
    metrics: [installs, clicks, cost, revenue, all_revenue_total_d30]
    date_period: ${firstDay}:yesterday
`;
}

function noRuns(): Used[] {
  return [];
}
