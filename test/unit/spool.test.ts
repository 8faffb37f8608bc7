import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import type { SavedBody } from '../../src/service/service.ts';
import { openSpool, type Spool } from '../../src/spool/spool.ts';
import { failureFrom, useDirectory } from '../support/scripted-server.ts';

let directory = '';
let spool: Spool;

beforeEach(async () => {
  directory = await useDirectory();
  spool = openSpool(join(directory, 'warehouse.duckdb'));
});

const bodyAt = (name: string): SavedBody => ({
  path: join(directory, 'warehouse.duckdb.spool', name),
  bytes: 2,
  plainBytes: 2,
  encoding: 'identity',
});

test('a body that is discarded is removed, and one that was never saved is none to remove', async () => {
  await writeFile(bodyAt('plain').path, '{}');
  await spool.discard({ answers: [{ pages: [bodyAt('plain'), bodyAt('never-saved')] }, { pages: [] }] });
  expect(await readdir(join(directory, 'warehouse.duckdb.spool'))).toEqual([]);
});

test('to discard what the disk refuses is STORAGE_FAILED about the spool, no bug', async () => {
  await mkdir(bodyAt('a-directory').path);
  const failure = await failureFrom(spool.discard({ answers: [{ pages: [bodyAt('a-directory')] }] }));
  expect(failure.code).toBe('STORAGE_FAILED');
  expect(failure.message).toMatch(/^The spool at .*warehouse\.duckdb\.spool\/\S+ could not be used: .*\bE[A-Z]+\b/);
  expect(failure.hint).toBe('Check free space and permissions of the spool beside the warehouse.');
});
