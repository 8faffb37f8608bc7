/** Many nights of Delta tables: what they hold after each, what older versions hold, and what is swept. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { draws, passNight } from '../support/delta-worlds.ts';
import { readDelta, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { heldRows, restate } from '../support/ledger-nights.ts';
import { useObjectStore, type RunningStore } from '../support/object-store.ts';
import { openSample, type Sample } from '../support/sample-warehouse.ts';

/** 400 in the long form. */
const NIGHTS = Number(process.env['RIPEN_DELTA_NIGHTS'] ?? '6');
const SEED = Number(process.env['RIPEN_DELTA_SEED'] ?? '1');

let sample: Sample;
let store: RunningStore;

beforeEach(async () => {
  store = await useObjectStore();
});

test.each(['disk', 'S3'])(
  `after each of ${NIGHTS} nights (seed ${SEED}) tables on %s hold what the warehouse does, and as long as they are kept, what it did`,
  async (place) => {
    sample = await openSample(4, 4);
    const draw = draws(SEED);
    const root = sample.path('tables');
    const target =
      place === 'S3'
        ? store.tables('tables')
        : ({ kind: 'delta', path: root, mode: 0o644, keepMs: 3 * 86_400_000 } as const);
    const look = async (): Promise<void> => {
      if (place !== 'S3') return;
      rmSync(root, { recursive: true, force: true });
      mkdirSync(root);
      await store.download('tables', root);
    };
    const held: unknown[] = [];
    for (let night = 0; night < NIGHTS; night += 1) {
      const isThere = await passNight(sample.warehouse, night, draw);
      await sample.publish([target]);
      await look();
      held.push(sortedRows(await heldRows(sample)));
      expect(await readDelta(join(root, 'network_daily')), `night ${night}`).toEqual(held.at(-1));
      const totals = join(root, 'app_totals');
      expect(isThere ? versionsOf(totals).at(-1) : night).toBe(night);
      const shown = isThere ? await readDelta(totals) : [];
      expect(shown).toEqual(isThere ? sortedRows(await heldRows(sample, 'app_totals')) : []);
    }
    for (const [version, rows] of held.entries()) {
      expect(await readDelta(join(root, 'network_daily'), version), `version ${version}`).toEqual(rows);
    }
  },
  60_000 + NIGHTS * 20_000,
);

test('a night of 120 periods, one of them changed, writes 1 data file of the slice and on S3 3 to 4 requests a table', async () => {
  sample = await openSample(120, 2);
  const target = store.tables('tables');
  await sample.publish([target]);
  await restate(sample.warehouse, '2026-03-05', 1);
  store.requests.length = 0;
  const startedAt = performance.now();
  await sample.publish([target]);
  const ms = Math.round(performance.now() - startedAt);
  const put = store.requests.filter(({ method }) => method === 'PUT');
  const tables = new Set(
    store.requests
      .map(({ key }) => key.split('/')[1])
      .filter((name) => name !== undefined && name !== '_manifest.json'),
  );
  expect(put.filter(({ key }) => /network_daily\/day=/.test(key))).toHaveLength(1);
  expect(put.filter(({ key }) => key.endsWith('.json'))).toHaveLength(tables.size);
  const delta = store.requests.length;
  const sent = (): number => store.requests.reduce((sum, { bytes }) => sum + bytes, 0);
  const deltaBytes = sent();
  const plain = store.lake('lake');
  await sample.publish([plain]);
  await restate(sample.warehouse, '2026-03-05', 1);
  store.requests.length = 0;
  const plainAt = performance.now();
  await sample.publish([plain]);
  const plainMs = Math.round(performance.now() - plainAt);
  process.stdout.write(
    `one night of 120 periods, ${tables.size} tables: Delta ${delta} requests, ${deltaBytes} bytes sent, ${ms} ms; plain files ${store.requests.length} requests, ${sent()} bytes sent, ${plainMs} ms\n`,
  );
  expect(delta).toBeLessThan(tables.size * 5);
  expect(deltaBytes).toBeLessThan(sent());
});
