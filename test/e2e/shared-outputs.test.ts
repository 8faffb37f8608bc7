/** Files that a user names to several processes at once: whole, and alone in their folder. */

import { readdir, readFile } from 'node:fs/promises';

import { beforeEach, expect, test } from 'vitest';

import { openInstallation, type Installation } from '../support/installation.ts';

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
  await installation.configure({
    service: { simulator: { seed: 3, apps: 1, rows_per_day: 2000, partners: 3, links: 30 } },
    warehouse: 'data/w.duckdb',
    partners: false,
    defaults: { reattributed: 'all' },
    slices: [
      {
        name: 'daily',
        dimensions: ['day', 'network', 'country_code'],
        metrics: ['installs'],
        date_period: '-9d:yesterday',
      },
    ],
  });
  const { code, err } = await installation.run(['sync']);
  if (code !== 0) throw new Error(err);
});

const output = 'rows.csv';
const exporting = ['export', '--slice', 'daily', '--output', output];

async function unfinished(): Promise<string[]> {
  return (await readdir(installation.directory)).filter((name) => name.includes('unfinished'));
}

test('6 processes that export to one file at once all succeed, and leave the whole of one of them', async () => {
  const newest = ['--from', new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10)];
  const whole: string[] = [];
  for (const days of [[], newest]) {
    expect((await installation.run([...exporting, ...days])).code).toBe(0);
    whole.push(await readFile(installation.path(output), 'utf8'));
  }
  expect(new Set(whole).size).toBe(2);
  for (let round = 0; round < 2; round += 1) {
    const processes = [[], newest, [], newest, [], newest].map((days) => installation.run([...exporting, ...days]));
    for (const { code, err } of await Promise.all(processes)) expect([code, err]).toEqual([0, expect.anything()]);
    expect(whole).toContain(await readFile(installation.path(output), 'utf8'));
    expect(await unfinished()).toEqual([]);
  }
});
