import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { useObjectStore, type RunningStore } from '../support/object-store.ts';
import { compilePublisher, type Publisher } from '../support/publisher.ts';
import { openSample, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
let store: RunningStore;
let bare: Publisher;

beforeAll(async () => {
  bare = await compilePublisher({ without: ['@aws-sdk'] });
});
afterAll(async () => bare.remove());
beforeEach(async () => {
  sample = await openSample(3, 5);
  store = await useObjectStore();
});

test('without the package of the S3 client a lake in a bucket is USAGE_INVALID and says what to install; a lake on a disk needs it not', async () => {
  const local = { kind: 'parquet', path: sample.path('lake'), mode: 0o644 } as const;
  const printed: unknown = JSON.parse(await bare.publish(sample, [store.lake('lake'), local]));
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
