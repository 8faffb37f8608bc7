/** Slices of very many metrics, of many dimensions, and very many slices: two nights, copies, replay and status. */

import { readdir, writeFile } from 'node:fs/promises';

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { day } from '../../src/model/calendar.ts';
import { daysIn } from '../support/plain-values.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { openInstallation, type Installation } from '../support/installation.ts';
import {
  isChanged,
  startWideWorld,
  totalOf,
  wideConfig,
  wideDimensions,
  wideMetrics,
} from '../support/wide-world.ts';

const DAYS = daysIn({ start: day('2026-09-03'), end: day('2026-11-02') });
const NIGHTS = ['2026-11-03T06:00:00Z', '2026-11-04T06:00:00Z'];

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

/** The built command, in a process of its own: what memory it has is what an installation has. */
async function ripen(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await installation.start(words).ended;
  expect(code, err).toBe(0);
  return out;
}

const restatement = z.object({
  period: z.string(),
  metric: z.string(),
  before: z.number(),
  after: z.number(),
});
const counted = z.object({ n: z.string() });

/** The nightly suite has the widest, which take minutes. */
const [MANY_METRICS, MANY_SLICES] = process.env['WIDEST'] === undefined ? [240, 8] : [400, 120];

test.each([
  { name: `${MANY_METRICS} metrics`, metrics: wideMetrics(MANY_METRICS), depth: 1, slices: 1 },
  // One metric that is final after a week, and the oldest, for which every day is requested again.
  {
    name: '28 dimensions',
    metrics: [...wideMetrics(1), ...wideMetrics(120).slice(-7)],
    depth: 28,
    slices: 1,
  },
  {
    name: `${MANY_SLICES} slices`,
    metrics: [...wideMetrics(1), ...wideMetrics(120).slice(-2)],
    depth: 1,
    slices: MANY_SLICES,
  },
])(
  'of $name a second night takes one request a slice and one for the control totals of all, restates exactly what changed, and is copied, replayed and described',
  async ({ metrics, depth, slices }) => {
    const [rowsPerDay, dimensions] = [2, wideDimensions(depth)];
    const world = await startWideWorld({ metrics, dimensions, rowsPerDay });
    const text = wideConfig({
      world,
      metrics,
      dimensions,
      slices,
      period: '2026-09-03:2026-11-01',
    });
    const publish = ['duckdb', 'parquet', 'delta']
      .map((kind) => `  - ${kind}: copies/${kind}${kind === 'duckdb' ? '/wide.duckdb' : ''}`)
      .join('\n');
    await writeFile(installation.path('ripen.yaml'), `${text}archive: 30d\npublish:\n${publish}\n`);
    await ripen('sync', '--as-of', NIGHTS[0] ?? '', '--quiet');
    world.setNight(2);
    const before = world.reports();
    await ripen('sync', '--as-of', NIGHTS[1] ?? '', '--quiet');
    // An address holds the names of some 300 metrics.
    const addresses = Math.ceil(metrics.length / 300);
    expect(world.reports() - before).toBe(addresses * (slices + 1));
    await ripen('replay', '--quiet');
    expect((await readdir(installation.path('copies'))).length).toBeGreaterThanOrEqual(3);
    expect(await ripen('status', '--as-of', NIGHTS[1] ?? '')).toContain('wide_0');

    const reading = { mode: 'read', lockWaitMs: 0, emit: () => {} } as const;
    await withWarehouse(installation.path('warehouse.duckdb'), reading, async (warehouse) => {
      const moved = await warehouse.rows(
        'select period::varchar as period, metric, before::double as before, after::double as after from ripen.restatements where slice = $1',
        [`wide_${slices - 1}`],
        restatement,
      );
      const expected = metrics.flatMap((metric, at) =>
        DAYS.filter((of) => isChanged(at, of)).map((of) => ({
          period: of,
          metric,
          before: totalOf(at, of, 1, rowsPerDay),
          after: totalOf(at, of, 2, rowsPerDay),
        })),
      );
      const inOrder = (rows: readonly z.infer<typeof restatement>[]): string[] =>
        rows.map((row) => JSON.stringify(row)).toSorted();
      expect(inOrder(moved)).toEqual(inOrder(expected));
      const rows = (sql: string): Promise<{ n: string }[]> => warehouse.rows(sql, [], counted);
      // Age 0 is final a week after its period; the oldest day is, the newest is not.
      const [first = ''] = metrics;
      expect(
        await rows(
          `select count("${first}")::varchar as n from main.wide_0_final where "day" in ('2026-09-03', '2026-11-01')`,
        ),
      ).toEqual([{ n: String(rowsPerDay) }]);
      expect(await rows('select count(*)::varchar as n from main.wide_0_cohorts')).toEqual([
        { n: String(metrics.length * DAYS.length * rowsPerDay) },
      ]);
    });
  },
  400_000,
);
