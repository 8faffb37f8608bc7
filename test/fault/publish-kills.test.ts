import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

import { contentsOf } from '../../src/publish/contents.ts';
import { withDatabase } from '../../src/publish/other-database.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const DAYS = 30;

let built: string;
let sample: Sample;

/** Node 20 runs no TypeScript, and a process that is to be killed cannot be this one: the sources are compiled aside. */
beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'ripen-built-'));
  for (const name of ['sql', 'node_modules']) symlinkSync(join(repository, name), join(built, name));
  await cp(join(repository, 'package.json'), join(built, 'package.json'));
  const compiler = join(repository, 'node_modules/typescript/bin/tsc');
  const project = join(repository, 'config/tooling/tsconfig.build.json');
  execFileSync(process.execPath, [compiler, '-p', project, '--noCheck', '--outDir', join(built, 'dist')]);
});
afterAll(async () => rm(built, { recursive: true, force: true }));

beforeEach(async () => {
  sample = await openSample(DAYS, 20);
});
afterEach(async () => sample.close());

const targets = (): Parameters<Sample['publish']>[0] => [
  { kind: 'parquet', path: sample.path('lake'), mode: 0o644 },
  { kind: 'duckdb', path: sample.path('analytics.duckdb'), mode: 0o644 },
];

/** Publishes in a process of its own and kills it, with no chance to tidy up, as soon as the moment has come. */
async function publishAndKill(moment: () => boolean): Promise<void> {
  const program = `
    import { openWarehouse } from '${built}/dist/warehouse/warehouse.js';
    import { publish } from '${built}/dist/publish/publish.js';
    const emit = () => {};
    const warehouse = await openWarehouse(process.argv[1], { mode: 'write', lockWaitMs: 0, emit });
    const slices = [{ name: 'network_daily' }];
    await publish({ publish: JSON.parse(process.argv[2]), slices }, warehouse, emit, new AbortController().signal);
    await warehouse.close();`;
  const wanted = JSON.stringify(targets());
  await sample.lend(async () => {
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', program, '--', sample.path('warehouse.duckdb'), wanted],
      { stdio: 'inherit' },
    );
    const gone = once(child, 'exit');
    while (child.exitCode === null && !moment()) await sleep(1);
    child.kill('SIGKILL');
    await gone;
    expect(child.signalCode, 'the process finished before the moment came').toBe('SIGKILL');
  });
}

const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

const lakeFiles = (): string[] =>
  filesIn(join(sample.path('lake'), 'network_daily')).filter((path) => path.endsWith('.parquet'));

/** What a reader finds of each day, wherever the files stand: never a torn file, never two versions of one day. */
async function installsInLake(): Promise<Record<string, unknown>[]> {
  const files = lakeFiles();
  if (files.length === 0) return [];
  return ask(
    ':memory:',
    `select day::varchar as day, count(*)::integer as rows, sum(installs)::varchar as installs
     from read_parquet('${sample.path('lake')}/network_daily/*/data.parquet') group by day order by day`,
  );
}

const installsInWarehouse = (): Promise<Record<string, unknown>[]> =>
  rowsOf(
    sample.warehouse,
    `select day::varchar as day, count(*)::integer as rows, sum(installs)::varchar as installs
     from network_daily group by day order by day`,
  );

async function expectComplete(): Promise<void> {
  await sample.publish(targets());
  expect(await installsInLake()).toEqual(await installsInWarehouse());
  expect(filesIn(sample.directory).filter((path) => path.includes('unfinished'))).toEqual([]);
  const contents = await withDatabase(sample.path('analytics.duckdb'), 'READ_ONLY', contentsOf);
  expect(contents).toEqual(await contentsOf(sample.warehouse));
  const [lake] = await sample.publish(targets());
  expect(lake?.files_written).toBe(0);
}

test.each([
  ['1 file of 30 is in place', () => lakeFiles().length >= 1],
  ['20 files of 30 are in place', () => lakeFiles().length >= 20],
  ['the manifest is written', () => existsSync(sample.path('lake/_manifest.json'))],
  ['the snapshot is being copied', () => existsSync(sample.path('analytics.duckdb.ripen-unfinished'))],
])('a first publish killed when %s leaves whole files, and the next one completes it', async (_what, moment) => {
  await publishAndKill(moment);
  const whole = await installsInWarehouse();
  for (const day of await installsInLake()) expect(whole).toContainEqual(day);
  await expectComplete();
});

test.each([0, 25])(
  'a publish of 29 changed days and 1 vanished, killed %i ms after it began, leaves each day old, new or gone',
  async (delayMs) => {
    await sample.publish(targets());
    const before = await installsInWarehouse();
    await sample.warehouse.run('update network_daily set installs = installs + 1');
    await sample.warehouse.run(`delete from network_daily where day = DATE '2026-01-20'`);
    const after = await installsInWarehouse();
    let begunAt = Infinity;
    await publishAndKill(() => {
      if (begunAt === Infinity && existsSync(sample.path('lake/_unfinished.json'))) begunAt = Date.now();
      return Date.now() - begunAt >= delayMs;
    });
    for (const day of await installsInLake()) expect([...before, ...after]).toContainEqual(day);
    await expectComplete();
  },
);
