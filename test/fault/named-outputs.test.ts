/** Files that a user names to be written, where something else lies: `export --output`, `status --html`, `--metrics-file`, `publish --dbt`. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants, link, lstat, mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { publish } from '../../src/commands/publish.ts';
import { status } from '../../src/commands/status.ts';
import type { Config } from '../../src/config/config.ts';
import type { Failure } from '../../src/errors.ts';
import type { RunEvent } from '../../src/events.ts';
import { exportRows, readConfig, sync } from '../../src/index.ts';
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
afterEach(() => scenario.close());

const exportTo = (output: string) => exportRows(config, { slice: 'daily', output, format: 'csv' });
const pageTo = (html: string): Promise<number> =>
  status(
    { config: config.file, html, asOf: undefined, log: 'text', json: false, lockWait: undefined },
    recordedShell({ directory: scenario.directory }),
  );
const sourcesTo = (dbt: string): Promise<number> =>
  publish(
    { config: config.file, dbt, ddl: undefined, asOf: undefined, log: 'text', json: false, lockWait: '0s' },
    recordedShell({ directory: scenario.directory }),
  );

const verbs: readonly (readonly [string, (output: string) => Promise<unknown>])[] = [
  ['export --output', exportTo],
  ['status --html', pageTo],
  ['sync --metrics-file', (metricsFile) => sync(config, { metricsFile })],
];
/** All that write a file whole. */
const writers = [...verbs, ['publish --dbt', sourcesTo]] as const;

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

test('the files that the configuration names are refused to every output, exit 78', async () => {
  await writeFile(inside('token.yml'), 'a-token');
  await writeFile(inside('authority.yml'), '-----BEGIN CERTIFICATE-----');
  const stated: unknown = JSON.parse(await readFile(config.file, 'utf8'));
  const address = 'http://127.0.0.1:1';
  const named = { token_file: 'token.yml', ca_file: 'authority.yml' };
  const service = { base_url: address, reports_url: address, ...named };
  await writeFile(config.file, JSON.stringify(Object.assign({}, stated, { service })));
  config = await readConfig({ file: config.file, directory: scenario.directory, environment: {} });
  for (const [verb, write] of writers) {
    for (const [file, what] of [
      ['token.yml', 'token file'],
      ['authority.yml', 'certificate authority'],
    ]) {
      expect(await refusal(write, inside(file ?? '')), verb).toMatchObject({
        code: 'USAGE_INVALID',
        message: saying(`belongs to the ${what ?? ''}`),
      });
    }
  }
});

describe.each(verbs.slice(0, 2))('%s to', (_, write) => {
  test('a folder that is not there names the folder', async () => {
    expect(await refusal(write, inside('nodir', 'out.csv'))).toMatchObject({
      code: 'STORAGE_FAILED',
      message: `The output ${inside('nodir', 'out.csv')} was not written: there was no folder ${inside('nodir')}.`,
    });
  });
});

describe.each(writers)('%s to', (_, write) => {
  test('another DuckDB database is refused, exit 78', async () => {
    await writeFile(inside('other.yml'), await readFile(inside('snapshot.duckdb')));
    expect(await refusal(write, inside('other.yml'))).toMatchObject({ code: 'USAGE_INVALID' });
  });

  test('a link replaces the file it leads to, and stays', async () => {
    await mkdir(inside('elsewhere'));
    await writeFile(inside('elsewhere', 'rows.yml'), 'old');
    await symlink(inside('elsewhere', 'rows.yml'), inside('rows.yml'));
    await write(inside('rows.yml'));
    expect((await lstat(inside('rows.yml'))).isSymbolicLink()).toBe(true);
    expect(await readFile(inside('elsewhere', 'rows.yml'), 'utf8')).toMatch(/installs|<html|^# HELP/);
  });

  test('a pipe writes the bytes to whoever reads it, and leaves it a pipe', async () => {
    execFileSync('mkfifo', [inside('pipe.yml')]);
    const [read] = await Promise.all([readFile(inside('pipe.yml'), 'utf8'), write(inside('pipe.yml'))]);
    expect(read).toMatch(/installs|<html|^# HELP/);
    expect((await lstat(inside('pipe.yml'))).isFIFO()).toBe(true);
  });
});

describe('sync --metrics-file to a pipe', () => {
  test.each([
    ['that nobody opens', null],
    ['that is opened and not read', constants.O_RDONLY | constants.O_NONBLOCK],
  ])(
    '%s warns after 5 seconds, and the run ends as it would',
    async (_, flags) => {
      const pipe = inside('pipe.prom');
      execFileSync('mkfifo', [pipe]);
      const reader = flags === null ? null : await open(pipe, flags);
      // No more fits, whatever the metrics are.
      if (reader !== null) await fill(pipe);
      const warnings: string[] = [];
      const emit = (event: RunEvent): void => {
        if (event.type === 'warning') warnings.push(`${event.code}: ${event.message}`);
      };
      const startedAt = performance.now();
      const summary = await sync(config, { metricsFile: pipe, emit });
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      await reader?.close();
      expect(summary.status).toBe('succeeded');
      expect(warnings).toContainEqual(
        `METRICS_NOT_WRITTEN: The metrics ${pipe} could not be written: Nobody read the whole of it from the pipe ${pipe} within 5 s.`,
      );
    },
    30_000,
  );

  /** Writes to a pipe until it takes no more. */
  async function fill(pipe: string): Promise<void> {
    const writer = await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    for (let taken = 1; taken > 0;) {
      ({ bytesWritten: taken } = await writer.write(Buffer.alloc(65_536)).catch(() => ({ bytesWritten: 0 })));
    }
    await writer.close();
  }
});
