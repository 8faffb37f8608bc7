/** `ripen publish` alone: brings back whatever a crash, a hand or a lost disk left wrong, and says what it did. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { changeRows } from '../support/ledger-nights.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';
import { carriedOut, flags, recordedShell } from '../unit/cli-recorded-shell.ts';

let sample: Sample;

beforeEach(async () => {
  sample = await openSample(12, 20);
  await writeFile(
    join(sample.directory, 'ripen.yaml'),
    `service: simulator
warehouse: warehouse.duckdb
publish: [{ duckdb: analytics.duckdb }, { parquet: lake }]
slices:
  - { name: network_daily, dimensions: [day, app_token, network], metrics: [installs], date_period: "2026-01-01:yesterday" }
`,
  );
});

/** Runs the command and returns what it printed, without the directory. */
async function ripenPublish(json = false): Promise<{ readonly exitCode: number; readonly printed: string }> {
  const shell = recordedShell({ directory: sample.directory });
  let exitCode = -1;
  await sample.lend(async () => {
    exitCode = await carriedOut(shell, 'publish', ...flags({ quiet: true, lockWait: '5s', json }));
  });
  const printed = [...shell.printed, ...shell.told].join('\n').replaceAll(`${sample.directory}/`, '');
  return { exitCode, printed };
}

const everything = 'select * exclude (_load_id) from network_daily order by all';

async function expectBothCurrent(): Promise<void> {
  const rows = await rowsOf(sample.warehouse, everything);
  expect(await ask(sample.path('analytics.duckdb'), everything)).toEqual(rows);
  const files = `read_parquet('${sample.path('lake')}/network_daily/*/data.parquet', hive_types = {day: DATE})`;
  expect(await ask(':memory:', `select day, * exclude (day) from ${files} order by all`)).toEqual(rows);
}

test('publishes what was loaded before a crash, and says that one file changed', async () => {
  const first = await ripenPublish();
  expect(first.printed).toMatch(
    /^duckdb analytics\.duckdb: 1 file written\nparquet lake: (\d+) files written; _manifest\.json too$/,
  );
  await changeRows(sample.warehouse, 'installs = installs + 1', `day = DATE '2026-01-05'`);
  expect(await ripenPublish()).toEqual({
    exitCode: 0,
    printed: 'duckdb analytics.duckdb: 1 file written\nparquet lake: 1 file written; _manifest.json too',
  });
  await expectBothCurrent();
  expect((await ripenPublish()).printed).toContain('parquet lake: up to date');
});
