/** Delta tables on disk that a publish leaves at any of its steps, or that others commit to: old or new is read, then all is complete and swept. */

import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { readDelta, readLog, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { countSteps } from '../support/failing-step.ts';
import { heldRows, restate } from '../support/ledger-fixtures.ts';
import { openSample, type Sample, ask } from '../support/sample-warehouse.ts';

/** Every how manyth step fails: all of them in the long form. */
const STEP = Number(process.env['RIPEN_DELTA_STEP'] ?? '79');

let sample: Sample;
beforeEach(async () => {
  sample = await openSample(5, 4);
});

const target = (keepMs = 3 * 86_400_000) =>
  ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs }) as const;
const at = (table: string): string => join(sample.path('tables'), table);
const held = async (): Promise<string> => JSON.stringify(sortedRows(await heldRows(sample)));
const read = async (version?: number): Promise<string> =>
  JSON.stringify(await readDelta(at('network_daily'), version));

test(`a publish of which each ${STEP}. step fails, once or from there on by turns, leaves the old night or the new, the next completes it, and nothing is left over`, async () => {
  await sample.publish([target()]);
  let old = await held();
  let failed = 0;
  for (let step = 1; ; step += STEP) {
    await restate(sample.warehouse, '2026-01-02', step);
    const now = await held();
    const isOnce = failed % 2 === 0;
    const steps = await countSteps((each) => (isOnce ? each === step : each >= step));
    const hasFailed = await sample
      .publish([target()])
      .then(
        () => false,
        () => true,
      )
      .finally(() => steps.stop());
    const what = `step ${step}, ${steps.kinds[step - 1] ?? 'none'}`;
    const pinned = await read(versionsOf(at('ripen_finality')).at(-1));
    expect([old, now], what).toContain(pinned);
    expect([old, now], what).toContain(await read());
    await sample.publish([target()]);
    expect(await read(versionsOf(at('ripen_finality')).at(-1)), what).toBe(now);
    old = now;
    failed += hasFailed ? 1 : 0;
    if (steps.kinds.length < step) break;
  }
  expect(failed).toBeGreaterThan(2);
  for (let night = 0; night < 2; night += 1) await sample.publish([target(0)]);
  const active = (await readLog(at('network_daily'))).files.map(({ path }) => path);
  const files = readdirSync(at('network_daily'), { recursive: true }).map(String);
  expect(
    files.filter((path) => path.startsWith('ripen-') && path.endsWith('.parquet')).sort(),
  ).toEqual(active.sort());
  expect(files.filter((path) => path.includes('unfinished'))).toEqual([]);
  expect(await read()).toBe(old);
}, 3_600_000);

const DAY = '2026-01-02';

const commit = (version: number, lines: readonly object[]): void => {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(
    join(at('network_daily'), '_delta_log', `${String(version).padStart(20, '0')}.json`),
    text,
  );
};
const info = (operation: string) => ({
  commitInfo: { timestamp: 1, operation, engineInfo: 'another engine' },
});
const onlyFile = async () => {
  const [file] = (await readLog(at('network_daily'))).files;
  if (file === undefined) throw new Error('no file');
  return file;
};
/** Writes a file as Spark would: under its own name, without numbers of columns. */
const written = async (name: string, rows: (from: string) => string) => {
  const { path, stats } = await onlyFile();
  const to = join(at('network_daily'), name);
  await ask(
    ':memory:',
    `copy (${rows(`read_parquet('${join(at('network_daily'), path)}', hive_partitioning = false)`)}) to '${to}' (format parquet)`,
  );
  return {
    path: name,
    partitionValues: {},
    size: statSync(to).size,
    modificationTime: 1,
    stats,
  };
};
const nightsPass = async (): Promise<void> => {
  const catalog = join(target().path, 'catalog.duckdb');
  for (const inDay of [DAY, '2026-01-03']) {
    expect(await read()).toBe(await held());
    expect(JSON.stringify(sortedRows(await ask(catalog, 'select * from network_daily')))).toBe(
      await held(),
    );
    await restate(sample.warehouse, inDay, 1);
    await sample.publish([target()]);
  }
  expect(await read()).toBe(await held());
};

test.each([
  [
    'changes a row',
    true,
    (from: string) => `select * replace (installs + 1 as installs) from ${from}`,
  ],
  ['adds rows beside a file', false, (from: string) => `from ${from}`],
])(
  'another engine that %s has its file replaced by the next publish, and no row is lost or there twice',
  async (_, replaces, rows) => {
    await sample.publish([target()]);
    const { path } = await onlyFile();
    const add = await written('part-00000-2c9f1a52.c000.snappy.parquet', rows);
    commit(1, [
      info('OPTIMIZE'),
      ...(replaces ? [{ remove: { path, deletionTimestamp: Date.now(), dataChange: false } }] : []),
      { add: { ...add, dataChange: !replaces } },
    ]);
    commit(2, [info('VACUUM END')]);
    const [published] = await sample.publish([target()]);
    expect(published).toMatchObject({
      files_written: replaces ? 1 : 0,
      // Where its own file stands again, so does the catalog.
      also_written: replaces ? ['version 3', 'catalog.duckdb'] : ['version 3'],
    });
    expect((await onlyFile()).path).toMatch(/ripen-/);
    await nightsPass();
  },
);
