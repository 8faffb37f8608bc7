/** A night's commit to Delta tables of a small and of a large slice: the same five days changed, hundred times as many rows stand beside. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { elapsedText } from '../../src/model/measure.ts';
import { restate } from '../support/ledger-fixtures.ts';
import { openSample, type Sample } from '../support/sample-warehouse.ts';
import { grouped, median, rounded, times } from './support/figures.ts';
import { publishSection } from './support/section.ts';
import { runCli, type Used } from './support/run-process.ts';
import { isLarge, scaled } from './support/scale.ts';

const ROWS_PER_DAY = scaled(91_000, 500);
const DAYS = { small: 11, large: isLarge ? 1099 : scaled(110, 40) };
/** Of the first days, which both have. */
const CHANGED = ['2026-01-01', '2026-01-03', '2026-01-05', '2026-01-07', '2026-01-09'];
const ROUNDS = scaled(5, 2);
const MIB = 1_048_576;

type Size = keyof typeof DAYS;
const sizes: readonly Size[] = ['small', 'large'];

let samples: Readonly<Record<Size, Sample>>;
let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  samples = {
    small: await openSample(DAYS.small, ROWS_PER_DAY),
    large: await openSample(DAYS.large, ROWS_PER_DAY),
  };
  for (const size of sizes) {
    await writeFile(
      configOf(size),
      `service: simulator
partners: false
warehouse: ${samples[size].path('warehouse.duckdb')}
publish:
  - delta: ${samples[size].path('tables')}
slices:
  - name: network_daily
    dimensions: [day, app_token, network]
    metrics: [installs, cost, revenue, ecpi]
    date_period: 2026-01-01:yesterday
`,
    );
  }
}, 1_800_000);

afterAll(async () => {
  for (const size of sizes) await samples[size].close();
  await rm(directory, { recursive: true, force: true });
});

const configOf = (size: Size): string => join(directory, `${size}.yaml`);

async function published(size: Size): Promise<Used> {
  let used: Used | undefined;
  await samples[size].lend(async () => {
    used = await runCli('publish', '--config', configOf(size), '--quiet');
  });
  if (used === undefined) throw new Error('Nothing was published.');
  return used;
}

test(
  'a night of 5 changed days costs a large slice as little as a small one',
  { timeout: 5_400_000 },
  async () => {
    const first: Record<Size, Used> = {
      small: await published('small'),
      large: await published('large'),
    };
    const nights: Record<Size, Used[]> = { small: [], large: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const size of sizes) {
        for (const day of CHANGED) await restate(samples[size].warehouse, day, round + 1);
        nights[size].push(await published(size));
      }
    }
    const of = (size: Size, key: 'wallMs' | 'cpuMs' | 'peakBytes'): number =>
      median(nights[size].map((used) => used[key]));
    const ratio = (key: 'wallMs' | 'cpuMs' | 'peakBytes'): number =>
      of('large', key) / of('small', key);
    publishSection({
      name: 'lake',
      title: 'A night in a large lake',
      paragraphs: [
        `Two slices of ${grouped(ROWS_PER_DAY)} rows a day: ${DAYS.small} days (${grouped(DAYS.small * ROWS_PER_DAY)} rows) and ${grouped(DAYS.large)} days (${grouped(DAYS.large * ROWS_PER_DAY)} rows). In each night ${CHANGED.length} days change in both, and \`ripen publish\` commits them to Delta tables as a process of its own.`,
      ],
      tables: [
        {
          caption: `Median of ${ROUNDS} nights by turns, and the first publication once.`,
          columns: ['rows', 'first publication', 'a night', 'processor time', 'peak memory'],
          rows: [
            ...sizes.map((size) => [
              grouped(DAYS[size] * ROWS_PER_DAY),
              elapsedText(first[size].wallMs),
              elapsedText(of(size, 'wallMs')),
              elapsedText(of(size, 'cpuMs')),
              `${grouped(of(size, 'peakBytes') / MIB)} MiB`,
            ]),
            [
              'large to small',
              '',
              times(ratio('wallMs')),
              times(ratio('cpuMs')),
              times(ratio('peakBytes')),
            ],
          ],
        },
      ],
      figures: {
        rows_large: DAYS.large * ROWS_PER_DAY,
        night_times_small: rounded(ratio('wallMs'), 2),
        memory_times_small: rounded(ratio('peakBytes'), 2),
      },
    });
    expect(nights.large).toHaveLength(ROUNDS);
  },
);
