/** Slices of very many metrics, and very many slices, on the first night and on the second. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { startWideWorld, wideConfig, wideDimensions, wideMetrics } from '../support/wide-world.ts';
import { grouped, milliseconds, rounded } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { runCli, type Used } from './support/run-process.ts';
import { scaled } from './support/scale.ts';

const PERIOD = '2026-09-03:2026-11-01';
const NIGHTS = ['2026-11-03T06:00:00Z', '2026-11-04T06:00:00Z'];
const MB = 1_000_000;

interface Case {
  readonly figure: string;
  readonly metrics: number;
  readonly slices: number;
  readonly rowsPerDay: number;
}

const CASES: readonly Case[] = [
  { figure: 'metrics', metrics: scaled(240, 40), slices: 1, rowsPerDay: 12 },
  { figure: 'slices', metrics: 12, slices: scaled(120, 4), rowsPerDay: 5 },
];

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

interface Night extends Used {
  readonly reports: number;
}

async function nightsOf({ figure, metrics: width, slices, rowsPerDay }: Case): Promise<Night[]> {
  // The oldest ages: every day of the slice is requested again.
  const metrics = wideMetrics(Math.max(width, 120)).slice(-width);
  const dimensions = wideDimensions(1);
  const world = await startWideWorld({ metrics, dimensions, rowsPerDay });
  const place = await mkdtemp(join(directory, figure));
  const file = join(place, 'ripen.yaml');
  await writeFile(file, wideConfig({ world, metrics, dimensions, slices, period: PERIOD }));
  const nights: Night[] = [];
  try {
    for (const [at, asOf] of NIGHTS.entries()) {
      world.setNight(at + 1);
      const before = world.reports();
      const used = await runCli('sync', '--config', file, '--as-of', asOf, '--quiet');
      nights.push({ ...used, reports: world.reports() - before });
    }
  } finally {
    await world.close();
  }
  return nights;
}

test('a wide slice, and very many, are refreshed in one request a slice', async () => {
  const figures: Record<string, number> = {};
  const rows: string[][] = [];
  for (const each of CASES) {
    const { figure, metrics, slices, rowsPerDay } = each;
    const nights = await nightsOf(each);
    for (const [at, { wallMs, reports, peakBytes }] of nights.entries()) {
      const name = `${slices} × ${metrics} metrics × ${rowsPerDay} rows a day, night ${at + 1}`;
      rows.push([name, grouped(reports), milliseconds(wallMs), `${grouped(peakBytes / MB)} MB`]);
      figures[`${figure}_night_${at + 1}_s`] = rounded(wallMs / 1000, 1);
      figures[`${figure}_night_${at + 1}_mb`] = Math.round(peakBytes / MB);
    }
    expect(nights.at(-1)?.reports).toBe(slices);
  }
  publishSection({
    name: 'wide',
    title: 'Many metrics and many slices',
    paragraphs: [
      'Slices of 60 days and one dimension beside the day. On the second night every day is requested again, and a fortieth of the totals changed.',
    ],
    tables: [{ caption: 'Whole processes.', columns: ['slices', 'reports', '`ripen sync`', 'peak memory'], rows }],
    figures,
  });
});
