import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import type { SavedBody } from '../../src/service/service.ts';
import { openSpool, type Spool } from '../../src/spool/spool.ts';
import { failureFrom } from '../support/scripted-server.ts';

let directory = '';
let spool: Spool;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-spool-'));
  spool = openSpool(join(directory, 'warehouse.duckdb'));
});
afterEach(async () => rm(directory, { recursive: true, force: true }));

const bodyAt = (name: string, encoding: SavedBody['encoding'] = 'identity'): SavedBody => ({
  path: join(directory, 'warehouse.duckdb.spool', name),
  bytes: 2,
  plainBytes: 2,
  encoding,
});

test('a body is kept under a name that says its encoding, and gone once discarded', async () => {
  const [plain, packed] = [bodyAt('plain'), bodyAt('packed', 'gzip')];
  await writeFile(plain.path, '{}');
  await writeFile(packed.path, '{}');
  const kept = [await spool.keep(plain), await spool.keep(packed)];
  expect(await readdir(join(directory, 'warehouse.duckdb.spool'))).toEqual(['packed.json.gz', 'plain.json']);
  await spool.discard({ answers: [{ pages: kept }, { pages: [] }] });
  expect(await readdir(join(directory, 'warehouse.duckdb.spool'))).toEqual([]);
});

test.each([
  ['keeping', async () => spool.keep(bodyAt('never-saved'))],
  [
    'discarding',
    async () => {
      await mkdir(bodyAt('a-directory').path);
      await spool.discard({ answers: [{ pages: [bodyAt('a-directory')] }] });
    },
  ],
])('%s what the disk refuses is STORAGE_FAILED about the spool, no bug', async (_, act) => {
  const failure = await failureFrom(act());
  expect(failure.code).toBe('STORAGE_FAILED');
  expect(failure.message).toMatch(/^The spool at .*warehouse\.duckdb\.spool\/\S+ could not be used: .*\bE[A-Z]+\b/);
  expect(failure.hint).toBe('Check free space and permissions of the spool beside the warehouse.');
});
