/** Delta tables in an S3 store that stops, loses answers, or is committed to by others. */

import { beforeEach, expect, test } from 'vitest';

import { readDelta, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { heldRows, restate } from '../support/ledger-fixtures.ts';
import {
  refusal,
  useObjectStore,
  type RunningStore,
  type StoreRequest,
} from '../support/object-store.ts';
import { openSample, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
let store: RunningStore;

beforeEach(async () => {
  store = await useObjectStore();
  sample = await openSample(5, 4);
});

const held = async () => sortedRows(await heldRows(sample));
let downloads = 0;
/** The tables as they lie in the bucket, in a folder. */
async function downloaded(): Promise<(table: string) => string> {
  downloads += 1;
  const folder = sample.path(`download-${downloads}`);
  await store.download('tables', folder);
  return (table) => `${folder}/${table}`;
}
/** Every how manyth call is a stop: all of them in the long form. */
const STEP = Number(process.env['RIPEN_DELTA_STEP'] ?? '18');

test(
  `stopped before or after every ${STEP}th call of the store, by turns: readers find the old night or the new, the next publish completes it`,
  async () => {
    const target = store.tables('tables');
    await sample.publish([target]);
    let old = await held();
    let calls = 0;
    let stops = 0;
    for (let stop = 0; ; stop += STEP) {
      const isAfter = stops % 2 === 1;
      await restate(sample.warehouse, '2026-01-02', stop + 1);
      const now = await held();
      calls = 0;
      const isOver = (): boolean => calls > stop + (isAfter ? 1 : 0);
      store.refuse = () => {
        calls += 1;
        return isOver() ? refusal(403, 'AccessDenied') : null;
      };
      store.isAnswerLost = () => isAfter && calls === stop + 1;
      const wasStopped = await sample.publish([target]).then(
        () => false,
        () => true,
      );
      store.refuse = () => null;
      store.isAnswerLost = () => false;
      const at = await downloaded();
      const night = versionsOf(at('ripen_finality')).at(-1);
      const pinned = await readDelta(at('network_daily'), night);
      const newest = await readDelta(at('network_daily'));
      expect([JSON.stringify(old), JSON.stringify(now)], `stop ${stop}`).toContain(
        JSON.stringify(pinned),
      );
      expect([JSON.stringify(old), JSON.stringify(now)]).toContain(JSON.stringify(newest));
      await sample.publish([target]);
      const done = await downloaded();
      const complete = versionsOf(done('ripen_finality')).at(-1);
      expect(await readDelta(done('network_daily'), complete), `stop ${stop}`).toEqual(now);
      old = now;
      if (!wasStopped) break;
      stops += 1;
    }
    expect(stops).toBeGreaterThan(2);
    // Whatever the stopped ones had put is no longer kept.
    await sample.publish([{ ...target, keepMs: 0 }]);
    await sample.publish([{ ...target, keepMs: 0 }]);
    const files = [...(await store.objects()).keys()].filter((key) =>
      /network_daily\/ripen-/.test(key),
    );
    expect(files).toHaveLength(1);
    expect(await readDelta((await downloaded())('network_daily'))).toEqual(old);
  },
  60_000 + (60 / STEP) * 60_000,
);

test('a commit whose answer was lost is read back and counts once', async () => {
  const target = store.tables('tables');
  await sample.publish([target]);
  await restate(sample.warehouse, '2026-01-02', 3);
  let lost = 0;
  store.isAnswerLost = ({ method, key }: StoreRequest) => {
    if (method !== 'PUT' || !key.endsWith('.json') || lost === 4) return false;
    lost += 1;
    return true;
  };
  const [published] = await sample.publish([target]);
  expect(lost).toBe(4);
  expect(published?.also_written).toEqual(['version 1']);
  const at = await downloaded();
  for (const table of ['network_daily', 'apps', 'ripen_finality'])
    expect(versionsOf(at(table)), table).toEqual([0, 1]);
  expect(await readDelta(at('network_daily'))).toEqual(await held());
});

test('an engine that commits a moment earlier keeps its version, and the next publish takes the one after it in every table', async () => {
  const target = store.tables('tables');
  await sample.publish([target]);
  await restate(sample.warehouse, '2026-01-02', 3);
  const other = `${JSON.stringify({ commitInfo: { operation: 'OPTIMIZE', engineInfo: 'another engine' } })}\n`;
  const key = 'tables/network_daily/_delta_log/00000000000000000001.json';
  let hasCommitted = false;
  store.refuse = (request) => {
    if (hasCommitted || request.method !== 'PUT' || request.key !== key) return null;
    hasCommitted = true;
    void store.tamper(key, other);
    return refusal(503, 'SlowDown');
  };
  await expect(sample.publish([target])).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: `Another program committed version 1 to ${target.path}/network_daily during this publish.`,
  });
  expect((await store.objects()).get(key)?.toString()).toBe(other);
  const [published] = await sample.publish([target]);
  expect(published?.also_written).toEqual(['version 2']);
  const at = await downloaded();
  // A night that did not come to be everywhere is none: finality has no version 1.
  expect(versionsOf(at('ripen_finality'))).toEqual([0, 2]);
  expect(versionsOf(at('network_daily'))).toEqual([0, 1, 2]);
  expect(await readDelta(at('network_daily'))).toEqual(await held());
});
