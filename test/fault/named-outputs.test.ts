/** Files that a user names to be written, where something else lies: `export --output`, `status --html`, `--metrics-file`, `publish --dbt`. */

import { createHash } from 'node:crypto';
import { link, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { status } from '../../src/commands/status.ts';
import type { Config } from '../../src/config/config.ts';
import type { Failure } from '../../src/errors.ts';
import { exportRows, sync } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { failureFrom } from '../support/scripted-server.ts';
import { dailyInstalls } from '../support/slice.ts';
import { recordedShell } from '../unit/cli-recorded-shell.ts';

const daily = dailyInstalls({ first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } });

const saying = (part: string): unknown => expect.stringContaining(part);

let scenario: Scenario;
let config: Config;

const inside = (...names: string[]): string => join(scenario.directory, ...names);

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  const publish: Config['publish'] = [
    { kind: 'duckdb', path: inside('snapshot.duckdb'), mode: 0o644 },
    { kind: 'parquet', path: inside('lake'), mode: 0o644 },
  ];
  config = { ...scenario.config, publish };
  await scenario.night(new Date('2026-06-01T02:30:00Z'), { publish });
  // The same, as the command reads it.
  const targets = [{ duckdb: 'snapshot.duckdb' }, { parquet: 'lake' }];
  const service = { simulator: { seed: 1 } };
  const slices = [{ name: 'daily', dimensions: ['day'], metrics: ['installs'], date_period: '-3d:-1d' }];
  await writeFile(config.file, JSON.stringify({ service, warehouse: 'warehouse.duckdb', publish: targets, slices }));
});

const exportTo = (output: string) => exportRows(config, { slice: 'daily', output, format: 'csv' });
const pageTo = (html: string): Promise<number> =>
  status(
    { config: config.file, html, asOf: undefined, log: 'text', json: false, lockWait: undefined },
    recordedShell({ directory: scenario.directory }),
  );

const verbs: readonly (readonly [string, (output: string) => Promise<unknown>])[] = [
  ['export --output', exportTo],
  ['status --html', pageTo],
  ['sync --metrics-file', (metricsFile) => sync(config, { metricsFile })],
];

/** The failure of writing there, which left what lies there as it was. */
async function refusal(write: (output: string) => Promise<unknown>, output: string): Promise<Failure> {
  const digest = (): Promise<string | null> =>
    readFile(output).then(
      (bytes) => createHash('md5').update(bytes).digest('hex'),
      () => null,
    );
  const before = await digest();
  const failure = await failureFrom(write(output));
  expect(await digest()).toBe(before);
  return failure;
}

describe.each(verbs)('%s to', (_, write) => {
  test('the warehouse, what lies beside it, the configuration, a copy and into a lake is refused, exit 78', async () => {
    await symlink(inside('warehouse.duckdb'), inside('linked.csv'));
    await link(inside('warehouse.duckdb'), inside('other-name.csv'));
    await symlink(scenario.directory, inside('round'));
    for (const name of [
      'warehouse.duckdb',
      'warehouse.duckdb.wal',
      'warehouse.duckdb.archive/rows.csv',
      'ripen.yaml',
      'snapshot.duckdb',
      'lake/_manifest.json',
      'lake/daily/day=2026-05-28/data.parquet',
      'lake/new.csv',
      'linked.csv',
      'round/warehouse.duckdb',
    ]) {
      expect(await refusal(write, inside(name)), name).toMatchObject({
        code: 'USAGE_INVALID',
        message: saying('was not written: it belongs to the'),
      });
    }
    expect(await refusal(write, inside('other-name.csv'))).toMatchObject({
      code: 'USAGE_INVALID',
      message: saying('a DuckDB database lay there'),
    });
  });
});
