import { existsSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { useObjectStore, type RunningStore } from '../support/object-store.ts';
import { compilePublisher, type Publisher } from '../support/publisher.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

const DAYS = 20;
const PREFIX = 'lake';

let publisher: Publisher;
let sample: Sample;
let store: RunningStore;

beforeAll(async () => {
  publisher = await compilePublisher();
});
afterAll(async () => publisher.remove());

beforeEach(async () => {
  sample = await openSample(DAYS, 20);
  store = await useObjectStore();
});
afterEach(async () => sample.close());

const putsOf = (path: string): number =>
  store.requests.filter(({ method, key }) => method === 'PUT' && key.startsWith(`${PREFIX}/${path}`)).length;

/** What a reader finds of each day, whichever keys are there: never a torn one, never two versions of one day. */
async function installsInStore(): Promise<Record<string, unknown>[]> {
  const copy = sample.path(`copy-${store.requests.length}`);
  await store.download(PREFIX, copy);
  if (!existsSync(`${copy}/network_daily`)) return [];
  return ask(
    ':memory:',
    `select day::varchar as day, count(*)::integer as rows, sum(installs)::varchar as installs
     from read_parquet('${copy}/network_daily/*/data.parquet') group by day order by day`,
  );
}

const installsInWarehouse = (): Promise<Record<string, unknown>[]> =>
  rowsOf(
    sample.warehouse,
    `select day::varchar as day, count(*)::integer as rows, sum(installs)::varchar as installs
     from network_daily group by day order by day`,
  );

async function expectComplete(): Promise<void> {
  await sample.publish([store.lake(PREFIX)]);
  expect(await installsInStore()).toEqual(await installsInWarehouse());
  expect(existsSync(sample.path('warehouse.duckdb.drafts'))).toBe(false);
  const [published] = await sample.publish([store.lake(PREFIX)]);
  expect(published).toMatchObject({ files_written: 0, files_removed: 0, also_written: [] });
}

test('a publish to a bucket of 19 changed days and 1 vanished, killed in the middle, leaves each day old, new or gone', async () => {
  await sample.publish([store.lake(PREFIX)]);
  const before = await installsInWarehouse();
  await sample.warehouse.run('update network_daily set _load_id = -1, installs = installs + 1');
  await sample.warehouse.run(`delete from network_daily where day = DATE '2026-01-20'`);
  const after = await installsInWarehouse();
  store.requests.length = 0;
  const half = (): boolean => putsOf('network_daily/') >= 10;
  expect(await publisher.publishAndKill(sample, [store.lake(PREFIX)], half)).toBe(true);
  for (const day of await installsInStore()) expect([...before, ...after]).toContainEqual(day);
  await expectComplete();
});

describe('without the package of the S3 client', () => {
  let bare: Publisher;
  beforeAll(async () => {
    bare = await compilePublisher({ without: ['@aws-sdk'] });
  });
  afterAll(async () => bare.remove());

  test('a lake in a bucket is USAGE_INVALID and says what to install; a lake on a disk needs it not', async () => {
    const local = { kind: 'parquet', path: sample.path('lake'), mode: 0o644 } as const;
    const printed: unknown = JSON.parse(await bare.publish(sample, [store.lake(PREFIX), local]));
    expect(printed).toMatchObject({
      published: [{ path: sample.path('lake') }],
      failures: [
        {
          code: 'USAGE_INVALID',
          message: 'The lake s3://example-bucket was not opened: @aws-sdk/client-s3 is not installed.',
          hint: 'Install it beside ripen: npm install @aws-sdk/client-s3',
        },
      ],
    });
    expect(store.requests).toEqual([]);
  });
});
