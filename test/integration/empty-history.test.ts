/** A history of which the first third lies before an app's launch: how many requests its days without rows cost. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { openInstallation } from '../support/installation.ts';
import { startWideWorld, wideConfig } from '../support/wide-world.ts';

const SLICES = 40;
const MAX_REQUESTS = 200;

test(`${SLICES} slices of 92 days, a third of them before the launch, take at most ${MAX_REQUESTS} requests`, async () => {
  const shape = {
    metrics: ['all_revenue_total_d0', 'all_revenue_total_d7'],
    dimensions: ['app_token'],
  };
  const world = await startWideWorld({ ...shape, rowsPerDay: 5, launchDay: day('2026-04-01') });
  const installation = await openInstallation();
  const text = wideConfig({ world, ...shape, slices: SLICES, period: '2026-03-01:2026-05-31' });
  await writeFile(join(installation.directory, 'ripen.yaml'), text);
  const { code, err } = await installation.start(['sync', '--as-of', '2026-06-02T06:00:00Z']).ended;
  expect([code, err.match(/BUG|failed:/)]).toEqual([0, null]);
  process.stdout.write(`${world.reports()} report requests\n`);
  expect(world.reports()).toBeLessThanOrEqual(MAX_REQUESTS);
});
