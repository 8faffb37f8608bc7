import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { link, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { beforeEach, describe, expect, test } from 'vitest';

import { contentsOf } from '../../src/publish/snapshot.ts';
import { withDatabase } from '../../src/publish/other-database.ts';
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

const unfinished = (): string[] => readdirSync(sample.directory).filter((name) => name.includes('.ripen-'));

const INSTALLS = 'select sum(installs)::varchar as n from network_daily';

const addInstall = async (): Promise<void> => {
  await sample.warehouse.run('update network_daily set installs = installs + 1');
};

interface Session {
  /** `open`, or why it could not be opened. */
  readonly said: string;
  /** The rows of a query as JSON text. */
  ask(sql: string): Promise<string>;
  end(): Promise<void>;
}

/** Another process that opens a database, runs statements, then answers queries until it is killed. */
async function openElsewhere(path: string, access: string, ...statements: string[]): Promise<Session> {
  const program = `
    const { DuckDBInstance } = require(process.argv[1]);
    const open = async () => {
      const instance = await DuckDBInstance.create(process.argv[2], { access_mode: process.argv[3] });
      const connection = await instance.connect();
      for (const sql of process.argv.slice(4)) await connection.run(sql);
      process.stdin.on('data', async (sql) => {
        const reader = await connection.runAndReadAll(String(sql));
        process.stdout.write(JSON.stringify(reader.getRowObjectsJson()));
      });
    };
    open().then(() => 'open', String).then((said) => process.stdout.write(said));
    process.stdin.resume().on('end', () => process.exit());`;
  const duckdb = createRequire(import.meta.url).resolve('@duckdb/node-api');
  const child = spawn(process.execPath, ['-e', program, '--', duckdb, path, access, ...statements], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answer = async (): Promise<string> => {
    const chunks: unknown[] = await once(child.stdout, 'data');
    return String(chunks[0]);
  };
  return {
    said: await answer(),
    ask(sql) {
      child.stdin.write(sql);
      return answer();
    },
    async end() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

describe('a snapshot', () => {
  test('equals the warehouse in every table, view and comment, rejected rows and ledger included', async () => {
    await publishSnapshot();
    expect(await withDatabase(target, 'READ_ONLY', contentsOf)).toEqual(await contentsOf(sample.warehouse));
    expect(await ask(target, 'select reason from ripen.rejected_rows')).toEqual([{ reason: 'not a number' }]);
    expect((await stat(target)).mode & 0o777).toBe(0o640);
    expect(unfinished()).toEqual([]);
  });

  test('a reader process that reads a column only after a new snapshot took the place finds the rows of the old one', async () => {
    await publishSnapshot();
    const before = await rowsOf(sample.warehouse, INSTALLS);
    const reader = await openElsewhere(target, 'READ_ONLY');
    const { ino } = await stat(target);
    await addInstall();
    await publishSnapshot();
    // Old blocks may survive in a file that was overwritten; only another file proves that none was.
    expect((await stat(target)).ino).not.toBe(ino);
    const read = await reader.ask(INSTALLS);
    await reader.end();
    expect(JSON.parse(read)).toEqual(before);
    expect(await ask(target, INSTALLS)).toEqual(await rowsOf(sample.warehouse, INSTALLS));
    expect(await ask(target, INSTALLS)).not.toEqual(before);
  });

  test('is replaced while another process holds the old one open for writing', async () => {
    await publishSnapshot();
    const analyst = await openElsewhere(target, 'READ_WRITE');
    await addInstall();
    await publishSnapshot();
    await analyst.end();
    expect(analyst.said).toBe('open');
    expect(await ask(target, INSTALLS)).toEqual(await rowsOf(sample.warehouse, INSTALLS));
    expect(unfinished()).toEqual([]);
  });
});

describe('publishing refuses', () => {
  const refusal = (code: string): Promise<void> => expect(publishSnapshot()).rejects.toMatchObject({ code });
  const foreignTable = async (path: string): Promise<void> => {
    await withDatabase(path, 'READ_WRITE', (database) => database.run('create table mine as select 42 as answer'));
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

  test('a target with a write-ahead log beside it, stray or of a session that is writing', async () => {
    await publishSnapshot();
    const analyst = await openElsewhere(target, 'READ_WRITE', 'update network_daily set installs = 0');
    await refusal('WAREHOUSE_FOREIGN');
    await analyst.end();
    await refusal('WAREHOUSE_FOREIGN');
    expect(existsSync(`${target}.wal`)).toBe(true);
  });

  test.each(['path', 'hard link'])('the warehouse itself as its target, by %s', async (how) => {
    target = how === 'path' ? sample.warehouse.path : sample.path('alias.duckdb');
    if (how === 'hard link') await link(sample.warehouse.path, target);
    await refusal('USAGE_INVALID');
    const other = await openElsewhere(sample.warehouse.path, 'READ_WRITE');
    await other.end();
    expect(other.said).toContain('Could not set lock');
  });
});
