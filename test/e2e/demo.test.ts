/** The guided tour as `npm run demo` runs it: its nights, a correction that is caught, a night that is held, and its readers. */

import { readFile } from 'node:fs/promises';

import { beforeEach, expect, test } from 'vitest';

import { openInstallation, type Installation } from '../support/installation.ts';

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

test('a month of nights is a line a night; a correction is caught, a held night is kept from readers, the next is whole', async () => {
  const { code, out, err } = await installation.run(['demo']);
  expect(code).toBe(0);
  const nights = err.trimEnd().split('\n');
  expect(nights).toHaveLength(28);
  expect(nights.filter((line) => !/^\d{4}-\d\d-\d\d {2}network_daily /.test(line))).toEqual([]);
  expect(nights.map((line) => /published|held by an audit/.exec(line)?.[0] ?? '').join()).toBe(
    `${','.repeat(25)}published,held by an audit,published`,
  );

  const [, corrected = '', held = '', whole = '', ...others] = out.split(/^== /m);
  const days = nights.slice(-3).map((line) => line.slice(0, 10));
  expect([corrected, held, whole].map((text) => text.split('\n')[0])).toEqual([
    `The night of ${days[0]}: final values changed at the service`,
    `The night of ${days[1]}: held back by an audit`,
    `The night of ${days[2]}`,
  ]);
  expect(corrected).toMatch(/final installs of \d{4}-\d\d-\d\d moved from [\d,]+ to [\d,]+ \(-/);
  expect(held).toMatch(/The audit whole_day returned 1 row:/);
  for (const text of [corrected, held, whole])
    expect(text).toMatch(/all [\d,]+ totals agree with the\s+service/);

  const readersOf = (text: string): string => text.slice(text.indexOf('What readers of'));
  expect(readersOf(corrected)).toMatch(/\n {2}\d{4}-\d\d-\d\d +\d+ +\d+ +[\d.]+\n/);
  expect(readersOf(held)).toBe(readersOf(corrected));
  expect(readersOf(whole)).toContain(`\n  ${days[1]} `);
  expect(others.map((text) => text.split('\n')[0])).toEqual([
    'Where every value stands',
    expect.stringMatching(/^An analyst asks /),
    expect.stringMatching(/^An analyst asks /),
    'Open next',
  ]);
  expect(await readFile(installation.path('data', 'status.html'), 'utf8')).toContain(
    'network_daily',
  );

  const again = await installation.run(['demo']);
  expect([again.code, again.err, again.out.includes('holds every night already')]).toEqual([
    0,
    '',
    true,
  ]);
}, 300_000);

test('--nights shortens the tour, and a configuration of the user is refused', async () => {
  const refused = await installation.run(['demo', '--config', 'ripen.yaml']);
  expect([refused.code, refused.err.includes('leave out --config')]).toEqual([78, true]);
  const { code, err } = await installation.run(['demo', '--nights', '2']);
  expect([code, err.trimEnd().split('\n').length]).toEqual([0, 2]);
});
