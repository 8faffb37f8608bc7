/** Delta tables that others commit to: engines that rewrite or add files, or leave a log that nobody understands. */

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { readDelta, readLog, sortedRows } from '../support/delta-reader.ts';
import { heldRows, restate } from '../support/ledger-nights.ts';
import { ask, openSample, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
beforeEach(async () => {
  sample = await openSample(5, 4);
});

const held = async () => sortedRows(await heldRows(sample));
const DAY = '2026-01-02';

describe('another engine', () => {
  const target = (keepMs = 3 * 86_400_000) =>
    ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs }) as const;
  const at = (): string => join(sample.path('tables'), 'network_daily');
  const commit = (version: number, lines: readonly object[]): void => {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    writeFileSync(join(at(), '_delta_log', `${String(version).padStart(20, '0')}.json`), text);
  };
  const info = (operation: string) => ({ commitInfo: { timestamp: 1, operation, engineInfo: 'another engine' } });
  const fileOf = async (day: string) => {
    const found = (await readLog(at())).files.find(({ partitionValues }) => partitionValues['day'] === day);
    if (found === undefined) throw new Error(`no file of ${day}`);
    return found;
  };
  /** Writes a file of a day as Spark would: under its own name, without numbers of columns. */
  const written = async (name: string, rows: (from: string) => string) => {
    const { path, stats } = await fileOf(DAY);
    const to = join(at(), `day=${DAY}`, name);
    await ask(
      ':memory:',
      `copy (${rows(`read_parquet('${join(at(), path)}', hive_partitioning = false)`)}) to '${to}' (format parquet)`,
    );
    return {
      path: `day=${DAY}/${name}`,
      partitionValues: { day: DAY },
      size: statSync(to).size,
      modificationTime: 1,
      stats,
    };
  };
  const nightsPass = async (): Promise<void> => {
    const catalog = join(target().path, 'catalog.duckdb');
    for (const inDay of [DAY, '2026-01-03']) {
      expect(await readDelta(at())).toEqual(await held());
      expect(sortedRows(await ask(catalog, 'select * from network_daily'))).toEqual(await held());
      await restate(sample.warehouse, inDay, 1);
      await sample.publish([target()]);
    }
    expect(await readDelta(at())).toEqual(await held());
  };

  test.each([
    ['rewrites a file', true, (from: string) => `select * from ${from} order by installs desc`],
    ['changes a row', true, (from: string) => `select * replace (installs + 1 as installs) from ${from}`],
    ['adds rows beside a file', false, (from: string) => `from ${from}`],
  ])(
    'that %s has its file replaced by the next publish, and no row is lost or there twice',
    async (_, replaces, rows) => {
      await sample.publish([target()]);
      const { path } = await fileOf(DAY);
      const add = await written('part-00000-2c9f1a52.c000.snappy.parquet', rows);
      commit(1, [
        info('OPTIMIZE'),
        ...(replaces ? [{ remove: { path, deletionTimestamp: Date.now(), dataChange: false } }] : []),
        { add: { ...add, dataChange: !replaces } },
      ]);
      commit(2, [info('VACUUM END')]);
      const [published] = await sample.publish([target()]);
      expect(published).toMatchObject({ files_written: 1, also_written: ['version 3', 'catalog.duckdb'] });
      expect((await fileOf(DAY)).path).toMatch(/ripen-/);
      await nightsPass();
    },
  );
});
