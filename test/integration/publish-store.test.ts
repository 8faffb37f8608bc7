import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';

import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';

import { publish } from '../../src/publish/publish.ts';
import { sortedRows } from '../support/delta-reader.ts';
import { changeRows } from '../support/ledger-fixtures.ts';
import { textWith } from '../support/matching.ts';
import { refusal, useObjectStore, type RunningStore } from '../support/object-store.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

/** So many that a week is the longest unit for a file. */
const ROWS_PER_DAY = 850;
const DAYS = 12;
const WEEKS = 3;
const PREFIX = 'mobile/lake';
const weekKey = (monday: string): string => `${PREFIX}/network_daily/${monday}.parquet`;

let sample: Sample;
let store: RunningStore;

beforeEach(async () => {
  vi.stubEnv('AWS_REGION', undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  sample = await openSample(DAYS, ROWS_PER_DAY);
  store = await useObjectStore();
});

const publishLake = async (): Promise<Awaited<ReturnType<Sample['publish']>>[number]> => {
  const [published] = await sample.publish([store.lake(PREFIX)]);
  if (published === undefined) throw new Error('nothing was published');
  return published;
};

const writes = (): string[] =>
  store.requests
    .filter(({ method }) => method === 'PUT' || method === 'DELETE')
    .map(({ method, key }) => `${method} ${key.replace(`${PREFIX}/`, '')}`);

const writesOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  store.requests.length = 0;
  await work();
  return writes();
};

const everything = 'select * exclude (_load_id) from network_daily order by all';

/** What any engine finds in the bucket. */
async function rowsInStore(): Promise<Record<string, unknown>[]> {
  const copy = sample.path(`copy-${Math.random()}`);
  await store.download(PREFIX, copy);
  return ask(':memory:', `from '${copy}/network_daily/*.parquet' order by all`);
}

const expectComplete = async (): Promise<void> => {
  expect(sortedRows(await rowsInStore())).toEqual(
    sortedRows(await rowsOf(sample.warehouse, everything)),
  );
};

test('a lake in a bucket of 12 days in 3 weeks gets its files, at most 8 at once, and the manifest last, each stated with its digest', async () => {
  const published = await publishLake();
  expect(published).toMatchObject({ path: `s3://example-bucket/${PREFIX}`, files_removed: 0 });
  const keys = [...(await store.objects()).keys()];
  expect(keys.filter((key) => key.startsWith(`${PREFIX}/network_daily/`))).toHaveLength(WEEKS);
  expect(keys).toContain(`${PREFIX}/apps/data.parquet`);
  expect(keys).toHaveLength(published.files_written + 1);
  const done = writes();
  // What is final is stated after the cells it speaks of.
  expect(done.slice(-2)).toEqual(['PUT ripen_finality/2026.parquet', 'PUT _manifest.json']);
  await expectComplete();
  expect(existsSync(sample.path('warehouse.duckdb.drafts'))).toBe(false);
  expect(store.peak).toBeGreaterThan(1);
  expect(store.peak).toBeLessThanOrEqual(8);
  const objects = await store.objects();
  for (const { method, key, md5 } of store.requests.filter(
    (each) => each.method === 'PUT' && !each.isConditional && objects.has(each.key),
  )) {
    const bytes = objects.get(key) ?? '';
    expect(`${method} ${md5}`).toBe(`PUT ${createHash('md5').update(bytes).digest('base64')}`);
  }
});

test.each([
  ['plain files', { list: 2, GET: 2, PUT: 2 }],
  // 22 tables, each with one version: its commit is read and another put; one file of the slice, one of its ledger's each.
  ['Delta tables', { list: 2, GET: 24, PUT: 25 }],
] as const)(
  'a night of 14 restated days costs %s of a year in one prefix these requests: %j',
  async (form, expected) => {
    const year = await openSample(365, 70);
    onTestFinished(async () => year.close());
    const target = form === 'plain files' ? store.lake('year') : store.tables('year');
    await year.publish([target]);
    await changeRows(year.warehouse, 'installs = installs + 1', `day >= DATE '2026-12-18'`);
    store.requests.length = 0;
    await year.publish([target]);
    const counts: Record<string, number> = {};
    for (const { method, key } of store.requests) {
      const what = key === '' ? 'list' : method;
      counts[what] = (counts[what] ?? 0) + 1;
    }
    expect(counts).toEqual(expected);
  },
);

describe('the next publish', () => {
  test('makes a deleted key and keys with other content of the same or another size again, and says so', async () => {
    await publishLake();
    const same = 'x'.repeat((await store.objects()).get(weekKey('2026-01-05'))?.length ?? 0);
    await store.tamper(weekKey('2025-12-29'), null);
    await store.tamper(weekKey('2026-01-12'), 'PAR1');
    await store.tamper(weekKey('2026-01-05'), same);
    expect(await publishLake()).toMatchObject({ files_written: 3 });
    await expectComplete();
    expect((await publishLake()).files_written).toBe(0);
  });
});

describe('a store that', () => {
  test.each([
    ['says 503', refusal(503, 'SlowDown')],
    ['closes the connection', { status: 0, body: '' }],
  ])('%s at every first try of a file is asked again', async (_, answer) => {
    const seen = new Set<string>();
    store.refuse = ({ method, key }) => {
      const isFirst = method === 'PUT' && key.includes('network_daily/2026-01-') && !seen.has(key);
      seen.add(key);
      return isFirst ? answer : null;
    };
    await publishLake();
    await expectComplete();
  });

  test('says 503 in the HTML of a proxy, and stays so, is STORAGE_FAILED after 5 tries; the next run completes', async () => {
    const key = weekKey('2026-01-05');
    store.refuse = (request) =>
      request.method === 'PUT' && request.key === key
        ? { status: 503, body: '<html>busy</html>' }
        : null;
    const failure = await publishLake().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'STORAGE_FAILED', facts: { status: 503, tries: 5 } });
    expect(String(failure)).toMatch(/The store did not take .*2026-01-05.*503.*5 tries/);
    expect(store.requests.filter((request) => request.key === key)).toHaveLength(5);
    expect([...(await store.objects()).keys()]).not.toContain(`${PREFIX}/_manifest.json`);
    store.refuse = () => null;
    await publishLake();
    await expectComplete();
    expect(await writesOf(publishLake)).toEqual([]);
  });

  test('says 403 to one key is STORAGE_FAILED at once, the manifest untouched, every key whole, the rest redone', async () => {
    await publishLake();
    const before = await rowsInStore();
    const stated = (await store.objects()).get(`${PREFIX}/_manifest.json`);
    await changeRows(sample.warehouse, 'installs = installs + 1');
    const key = weekKey('2026-01-12');
    store.refuse = (request) =>
      request.method === 'PUT' && request.key === key
        ? refusal(403, 'AccessDenied', 'Access Denied')
        : null;
    store.requests.length = 0;
    const run = publish({ publish: [store.lake(PREFIX)] }, sample.warehouse, {
      emit: () => {},
      signal: new AbortController().signal,
    });
    const { published, failures } = await run;
    expect(published).toEqual([]);
    expect(failures).toMatchObject([
      { code: 'STORAGE_FAILED', kind: 'storage', facts: { status: 403, tries: 1 } },
    ]);
    expect(store.requests.filter((request) => request.key === key)).toHaveLength(1);
    expect((await store.objects()).get(`${PREFIX}/_manifest.json`)).toEqual(stated);
    const after = await rowsOf(sample.warehouse, everything);
    const whole = new Set(sortedRows([...before, ...after]).map((row) => JSON.stringify(row)));
    const stored = sortedRows(await rowsInStore()).map((row) => JSON.stringify(row));
    expect(stored.filter((row) => !whole.has(row))).toEqual([]);
    store.refuse = () => null;
    expect((await publishLake()).files_written).toBeGreaterThan(0);
    await expectComplete();
  });
});

describe('publishing to a bucket refuses', () => {
  test('credentials the store does not know, without showing them', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'someoneelse');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'marked-secret-key-0123456789');
    const failure = await publishLake().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'USAGE_INVALID',
      hint: 'Correct the credentials in the environment.',
    });
    expect(JSON.stringify([failure, String(failure)])).not.toContain('marked-secret');
  });

  test('plain http to another machine, when the environment names it', async () => {
    const target = store.lake(PREFIX);
    if (target.store === undefined) throw new Error('no store');
    const elsewhere = {
      ...target,
      store: { ...target.store, endpoint: null, region: 'us-east-1' },
    };
    vi.stubEnv('AWS_ENDPOINT_URL_S3', 'http://store.example.com');
    const failure = {
      code: 'USAGE_INVALID',
      message: textWith('was not requested over plain http'),
    };
    await expect(sample.publish([elsewhere])).rejects.toMatchObject(failure);
  });
});
