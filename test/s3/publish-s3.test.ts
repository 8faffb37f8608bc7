/** Copies in a bucket of a real S3 server (Ceph's), not of a fake: conditions, listings, kills and refusals. */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import {
  CreateBucketCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';

import type { PublishTarget } from '../../src/config/config.ts';
import { openS3Store } from '../../src/publish/places/s3.ts';
import { draftText } from '../../src/publish/places/store.ts';
import { readDelta, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { empty, heldRows, newDay, restate } from '../support/ledger-fixtures.ts';
import { compilePublisher, type Publisher } from '../support/publisher.ts';
import { ask, openSample, type Sample } from '../support/sample-warehouse.ts';
import { CREDENTIALS, startCeph, type Ceph } from './ceph.ts';

const BUCKET = 'ripen-copies';
const KILLS = Number(process.env['RIPEN_S3_KILLS'] ?? '12');
const signal = new AbortController().signal;
const matching = (words: RegExp): unknown => expect.stringMatching(words);

let ceph: Ceph;
let client: S3Client;
let publisher: Publisher;
let sample: Sample;
let downloads = 0;

beforeAll(async () => {
  ceph = await startCeph();
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', 'true');
  client = new S3Client({ endpoint: ceph.url, region: 'us-east-1', forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  publisher = await compilePublisher();
});
afterAll(async () => {
  await publisher.remove();
  client.destroy();
  await ceph.stop();
  vi.unstubAllEnvs();
});
beforeEach(async () => {
  sample = await openSample(5, 4);
});
afterEach(async () => sample.close());

const place = (prefix: string, bucket = BUCKET) => ({
  path: `s3://${bucket}/${prefix}`,
  mode: 0o644,
  store: { bucket, prefix, endpoint: ceph.url, region: null, pathStyle: true },
});
const tables = (prefix: string, bucket = BUCKET) =>
  ({ ...place(prefix, bucket), kind: 'delta', keepMs: 3 * 86_400_000 }) satisfies PublishTarget;
const files = (prefix: string) => ({ ...place(prefix), kind: 'parquet' }) satisfies PublishTarget;
const opened = async (prefix: string) => {
  const { path, store } = place(prefix);
  downloads += 1;
  return openS3Store(path, { store, drafts: sample.path(`drafts-${downloads}`) }, signal);
};

/** What lies below a prefix, written to a folder of this machine. */
async function downloaded(prefix: string): Promise<string> {
  downloads += 1;
  const folder = sample.path(`download-${downloads}`);
  for await (const { Contents = [] } of paginateListObjectsV2(
    { client },
    { Bucket: BUCKET, Prefix: `${prefix}/` },
  )) {
    for (const { Key = '' } of Contents) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
      const path = join(folder, Key.slice(prefix.length + 1));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, (await Body?.transformToByteArray()) ?? '');
    }
  }
  return folder;
}

const rowsAndInstalls = z.object({ rows: z.number(), installs: z.string() });
const held = async () => sortedRows(await heldRows(sample));
const inFiles = async (folder: string) =>
  ask(
    ':memory:',
    `select count(*)::integer as rows, sum(installs)::varchar as installs from '${folder}/network_daily/**/*.parquet'`,
  );
const inWarehouse = async () =>
  sample.warehouse.rows(
    'select count(*)::integer as rows, sum(installs)::varchar as installs from main.network_daily',
    [],
    rowsAndInstalls,
  );

test('of 16 puts of one new key at once, one is made and 15 are told that it is taken', async () => {
  const stores = await Promise.all(Array.from({ length: 16 }, async () => opened('race')));
  const placed = await Promise.all(
    stores.map(async (store, nth) => {
      await draftText(store, 'commit.json', `writer ${nth}`);
      return store.placeNew('commit.json');
    }),
  );
  expect(placed.filter(Boolean)).toHaveLength(1);
  expect(await stores[0]?.read('commit.json')).toBe(`writer ${placed.indexOf(true)}`);
  await Promise.all(stores.map(async (store) => store.close()));
});

test('a folder of 1,100 keys is listed whole, with sizes and times', async () => {
  const store = await opened('many');
  const paths = Array.from(
    { length: 1100 },
    (_, nth) => `folder/${String(nth).padStart(4, '0')}.txt`,
  );
  for (const path of paths) {
    await draftText(store, path, path);
    await store.place(path);
  }
  const listed = await store.list('folder');
  expect([...listed.keys()].toSorted()).toStrictEqual(paths);
  expect(
    [...listed.values()].every(
      ({ bytes, modifiedMs }) => bytes === 15 && Number.isFinite(modifiedMs),
    ),
  ).toBe(true);
  await store.close();
});

describe.each(['plain', 'a b/c+d=100%/ü'])('below the prefix %j', (prefix) => {
  test('four nights of Delta tables and of files hold what the warehouse does; older nights stay', async () => {
    const targets = [tables(`${prefix}/tables`), files(`${prefix}/files`)];
    const nights: unknown[] = [];
    for (const night of [
      async () => {},
      async () => restate(sample.warehouse, '2026-01-02', 3),
      async () => newDay(sample.warehouse, '2026-01-06', '2026-01-05'),
      async () => empty(sample.warehouse, '2026-01-03'),
    ]) {
      await night();
      await sample.publish(targets);
      nights.push(await held());
    }
    const folder = `${await downloaded(`${prefix}/tables`)}/network_daily`;
    for (const version of versionsOf(folder))
      expect(await readDelta(folder, version)).toEqual(nights[version]);
    expect(nights).toHaveLength(versionsOf(folder).length);
    expect(await inFiles(await downloaded(`${prefix}/files`))).toEqual(await inWarehouse());
    const again = await sample.publish(targets);
    expect(again.map(({ files_written: written }) => written).at(-1)).toBe(0);
  });
});

test(`${KILLS} publishers killed at any moment: the next publish makes both copies equal to the warehouse`, async () => {
  const targets = [tables('killed/tables'), files('killed/files')];
  let kills = 0;
  for (let nth = 0; nth < KILLS; nth += 1) {
    await restate(sample.warehouse, `2026-01-0${1 + (nth % 5)}`, nth + 1);
    const end = performance.now() + 400 + nth * 60;
    if (await publisher.publishAndKill(sample, targets, () => performance.now() > end)) kills += 1;
    if (nth % 4 !== 3) continue;
    await sample.publish(targets);
    expect(await readDelta(`${await downloaded('killed/tables')}/network_daily`)).toEqual(
      await held(),
    );
    expect(await inFiles(await downloaded('killed/files'))).toEqual(await inWarehouse());
  }
  expect(kills).toBeGreaterThan(KILLS / 3);
});

describe('what the store refuses', () => {
  test.each([
    ['a wrong secret', { AWS_SECRET_ACCESS_KEY: 'another' }, 'SignatureDoesNotMatch'],
    ['an unknown key', { AWS_ACCESS_KEY_ID: 'nobody' }, 'InvalidAccessKeyId'],
  ])('%s is a mistake of the configuration that names the bucket', async (_, environment, name) => {
    for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value);
    try {
      await expect(sample.publish([tables('refused')])).rejects.toMatchObject({
        code: 'USAGE_INVALID',
        message: matching(new RegExp(`${BUCKET}.*${name}`)),
        hint: 'Correct the credentials in the environment.',
      });
    } finally {
      for (const [variable, value] of Object.entries(CREDENTIALS)) vi.stubEnv(variable, value);
    }
  });

  test('a bucket that does not exist is named', async () => {
    await expect(sample.publish([tables('t', 'nobody-made-this')])).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: matching(/nobody-made-this/),
      hint: 'Make the bucket, or correct its name.',
    });
  });
});
