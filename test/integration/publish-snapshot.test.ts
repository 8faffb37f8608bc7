import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { link, readFile, stat, writeFile } from 'node:fs/promises';

import { beforeEach, describe, expect, test } from 'vitest';

import { contentsOf } from '../../src/publish/formats/snapshot.ts';
import { withDatabase } from '../../src/publish/places/database.ts';
import { hold } from '../support/lock-holder.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
let target: string;

beforeEach(async () => {
  sample = await openSample(3, 20);
  target = sample.path('analytics.duckdb');
});

const publishSnapshot = async (): Promise<void> => {
  await sample.publish([{ kind: 'duckdb', path: target, mode: 0o640 }]);
};

const unfinished = (): string[] =>
  readdirSync(sample.directory).filter((name) => name.includes('.ripen-'));

const INSTALLS = 'select sum(installs)::varchar as n from network_daily';

const addInstall = async (): Promise<void> => {
  await sample.warehouse.run('update network_daily set installs = installs + 1');
};

describe('a snapshot', () => {
  test('equals the warehouse in every table, view and comment, rejected rows and ledger included', async () => {
    await publishSnapshot();
    expect(await withDatabase(target, 'READ_ONLY', contentsOf)).toEqual(
      await contentsOf(sample.warehouse),
    );
    expect(await ask(target, 'select reason from ripen.rejected_rows')).toEqual([
      { reason: 'not a number' },
    ]);
    expect((await stat(target)).mode & 0o777).toBe(0o640);
    expect(unfinished()).toEqual([]);
  });

  test.each(['READ_ONLY', 'READ_WRITE'] as const)(
    'is another file that takes the place of the old one while another process holds that open, %s',
    async (mode) => {
      await publishSnapshot();
      const before = await readFile(target);
      await link(target, sample.path('held.duckdb'));
      const analyst = await hold(target, mode);
      await addInstall();
      await publishSnapshot();
      await analyst.release();
      expect(before.equals(await readFile(sample.path('held.duckdb')))).toBe(true);
      expect(await ask(target, INSTALLS)).toEqual(await rowsOf(sample.warehouse, INSTALLS));
      expect(unfinished()).toEqual([]);
    },
  );
});

describe('publishing refuses', () => {
  const refusal = (code: string): Promise<void> =>
    expect(publishSnapshot()).rejects.toMatchObject({ code });
  const foreignTable = async (path: string): Promise<void> => {
    await withDatabase(path, 'READ_WRITE', (database) =>
      database.run('create table mine as select 42 as answer'),
    );
  };

  test('a database without a ledger that holds a table, and leaves it as it was', async () => {
    await foreignTable(target);
    const before = await stat(target);
    await refusal('WAREHOUSE_FOREIGN');
    expect((await stat(target)).mtimeMs).toBe(before.mtimeMs);
    expect(await ask(target, 'select answer from mine')).toEqual([{ answer: 42 }]);
    expect(unfinished()).toEqual([]);
  });

  test('a file that is no database', async () => {
    await writeFile(target, 'x'.repeat(20_000));
    await refusal('WAREHOUSE_FOREIGN');
    expect((await stat(target)).size).toBe(20_000);
  });

  test('a target with a write-ahead log beside it, which a session that writes or was killed has, and leaves that', async () => {
    await publishSnapshot();
    await writeFile(`${target}.wal`, 'of somebody');
    await refusal('WAREHOUSE_FOREIGN');
    expect(await readFile(`${target}.wal`, 'utf8')).toBe('of somebody');
  });

  test.each(['path', 'hard link'])('the warehouse itself as its target, by %s', async (how) => {
    target = how === 'path' ? sample.warehouse.path : sample.path('alias.duckdb');
    if (how === 'hard link') await link(sample.warehouse.path, target);
    await refusal('USAGE_INVALID');
    // Its lock is not lost by that.
    const holder = `import('@duckdb/node-api').then(({ DuckDBInstance }) => DuckDBInstance.create(process.argv[1]))`;
    const { stderr } = spawnSync(process.execPath, ['-e', holder, sample.warehouse.path], {
      encoding: 'utf8',
    });
    expect(stderr).toContain('Could not set lock');
  });
});
