/** Several accounts read as one: the statements of `publish --ddl` with one configuration each. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { answersOf } from '../support/delta-reader.ts';
import { openInstallation, type Installation } from '../support/installation.ts';
import { ask } from '../support/sample-warehouse.ts';

let installation: Installation;

const slices = (metrics: readonly string[], currency = 'USD') => [
  {
    name: 'daily',
    dimensions: ['day', 'network'],
    metrics: ['installs', 'cost'],
    date_period: '2026-02-20:yesterday',
  },
  { name: 'other', dimensions: ['day'], metrics, date_period: '2026-02-27:yesterday' },
  {
    name: 'priced',
    dimensions: ['day'],
    metrics: ['cost'],
    currency,
    date_period: '2026-02-27:yesterday',
  },
];

async function configure(name: string, change: object): Promise<void> {
  const settings = {
    name,
    service: {
      simulator: { seed: name.length, now: '2026-03-01T06:00:00Z', apps: 1, rows_per_day: 20 },
    },
    warehouse: `${name}.duckdb`,
    publish: [{ delta: `mobile/${name}` }],
    partners: false,
    control: 'off',
    slices: slices(['installs']),
    ...change,
  };
  await writeFile(join(installation.directory, `${name}.yaml`), JSON.stringify(settings));
}

test('two accounts below one root are one view of each slice of one shape and meaning, with every row of both, and what differs is said', async () => {
  installation = await openInstallation();
  await configure('studio', {});
  await configure('games', { slices: slices(['installs', 'clicks'], 'EUR') });
  const both = ['--config', 'studio.yaml', '--config', 'games.yaml'];
  const synced = ['studio', 'games'].map((name) =>
    installation.run(['sync', '--config', `${name}.yaml`]),
  );
  for (const { code, err } of await Promise.all(synced)) expect(code, err).toBe(0);
  const { code, out, err } = await installation.run(['publish', '--ddl', 'duckdb', ...both]);
  expect(code, err).toBe(0);
  expect(out).toContain(
    '-- The accounts studio, games as one, in the schema accounts: views with a column account.',
  );
  expect(out).toContain(
    '-- other has no view: its columns or their types differ between studio and games',
  );
  expect(out).toContain(
    '-- priced has no view: its comments differ, as with another currency, offset or filter, between studio and games',
  );
  expect(out).not.toMatch(/"?accounts"?\."?priced/);
  const of = async (name: string, relation: string): Promise<unknown> => {
    const sql = `select '${name}' as account, count(*)::int as rows, sum(installs)::varchar as installs from ${relation}`;
    return (await ask(installation.path('mobile', name, 'catalog.duckdb'), sql))[0];
  };
  for (const relation of ['daily', 'daily_final']) {
    const sql = `select account, count(*)::int as rows, sum(installs)::varchar as installs from accounts.${relation} group by all order by 1`;
    expect(await answersOf(out, [sql])).toEqual([
      [await of('games', relation), await of('studio', relation)],
    ]);
  }

  const refused = await installation.run(['publish', ...both]);
  expect(refused).toMatchObject({ code: 78 });
  expect(refused.err).toContain('--config was given 2 times');

  // Another warehouse's tables are never taken for an account's own.
  await configure('games', { publish: [{ delta: 'mobile/studio' }] });
  const foreign = await installation.run(['publish', '--ddl', 'duckdb', ...both]);
  expect(foreign.code).toBe(78);
  expect(foreign.err).toContain('two configurations have the place of Delta tables');

  // Nor is an account's folder swept as what is left of a slice of its name.
  await configure('above', {
    publish: [{ delta: 'mobile', keep: '0s' }],
    slices: [{ ...slices([])[0], name: 'studio' }],
  });
  for (const verb of ['sync', 'publish']) {
    const above = await installation.run([verb, '--config', 'above.yaml']);
    expect(above.code, above.err).toBe(0);
  }
  expect(await of('studio', 'daily')).toMatchObject({ account: 'studio' });
});
