/** A history of which the first third lies before an app's launch: how many requests its days without rows cost. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { openInstallation } from '../support/installation.ts';
import { startWideWorld, wideConfig } from '../support/wide-world.ts';

const SLICES = 40;
/** Two a slice, as the first answer says how long the other window may be, and one for the control totals of all. */
const MAX_FIRST = 90;
/** One a slice. */
const MAX_NEXT = 50;

test(`${SLICES} slices of 92 days, a third of them before the launch, take at most ${MAX_FIRST} requests, and ${MAX_NEXT} in each next night`, async () => {
  const shape = {
    metrics: ['all_revenue_total_d0', 'all_revenue_total_d7'],
    dimensions: ['app_token'],
  };
  const world = await startWideWorld({ ...shape, rowsPerDay: 5, launchDay: day('2026-04-01') });
  const installation = await openInstallation();
  const text = wideConfig({ world, ...shape, slices: SLICES, period: '2026-03-01:yesterday' });
  await writeFile(join(installation.directory, 'ripen.yaml'), text);
  let before = 0;
  for (const [night, most] of [
    ['2026-06-01', MAX_FIRST],
    ['2026-06-02', MAX_NEXT],
    ['2026-06-03', MAX_NEXT],
  ] as const) {
    const { code, err } = await installation.start(['sync', '--as-of', `${night}T06:00:00Z`]).ended;
    expect([code, err.match(/BUG|failed:/)]).toEqual([0, null]);
    const requests = world.reports() - before;
    before = world.reports();
    process.stdout.write(`${night}: ${requests} report requests\n`);
    expect(requests).toBeLessThanOrEqual(most);
  }
});
