/** A publisher of Delta tables killed again and again beside readers: no error, no torn night, nothing left over. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { readDelta, readLog, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { heldRows, restate } from '../support/ledger-nights.ts';
import { compilePublisher, type Publisher } from '../support/publisher.ts';
import { openSample } from '../support/sample-warehouse.ts';

const KILLS = Number(process.env['RIPEN_PUBLISH_KILLS'] ?? '4');
const TABLES = ['network_daily', 'apps', 'links', 'ripen_loads', 'ripen_finality'];

let publisher: Publisher;
beforeAll(async () => {
  publisher = await compilePublisher();
});
afterAll(async () => publisher.remove());

test(`${KILLS} kills, each after one more table was committed: every reader sees a whole night, the next publish completes and sweeps`, async () => {
  const sample = await openSample(6, 6);
  onTestFinished(async () => sample.close());
  const root = sample.path('tables');
  const at = (table: string): string => join(root, table);
  const target = { kind: 'delta', path: root, mode: 0o644, keepMs: 3 * 86_400_000 } as const;
  await sample.publish([target]);
  const held = async (): Promise<string> => JSON.stringify(sortedRows(await heldRows(sample)));
  const states = new Set([await held()]);
  const found: string[] = [];
  const over = new AbortController();
  const reading = (async () => {
    while (!over.signal.aborted) {
      const night = versionsOf(at('ripen_finality')).at(-1);
      found.push(JSON.stringify(await readDelta(at('network_daily'), night)));
    }
  })();
  let killed = 0;
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await restate(sample.warehouse, '2026-01-02', 1);
      await restate(sample.warehouse, '2026-01-03', 10);
      states.add(await held());
      const table = TABLES[kill % TABLES.length] ?? '';
      const before = versionsOf(at(table)).at(-1) ?? -1;
      const wasKilled = await publisher.publishAndKill(
        sample,
        [target],
        () => (versionsOf(at(table)).at(-1) ?? -1) > before,
      );
      killed += wasKilled ? 1 : 0;
    }
    await sample.publish([target]);
  } finally {
    over.abort();
    await reading;
  }
  expect(killed).toBeGreaterThan(0);
  expect(found.filter((each) => !states.has(each))).toEqual([]);
  expect(found.length).toBeGreaterThan(3);
  expect(JSON.stringify(await readDelta(at('network_daily')))).toBe(await held());
  // Every night that finality has is whole: each table has it too.
  for (const night of versionsOf(at('ripen_finality'))) {
    for (const table of TABLES) expect(versionsOf(at(table)), `${table} ${night}`).toContain(night);
  }
  await sample.publish([{ ...target, keepMs: 0 }]);
  await sample.publish([{ ...target, keepMs: 0 }]);
  const active = (await readLog(at('network_daily'))).files.map(({ path }) => path);
  const lying = readdirSync(at('network_daily'), { recursive: true }).map(String);
  expect(lying.filter((path) => path.endsWith('.parquet') && !path.startsWith('_delta_log')).sort()).toEqual(
    active.sort(),
  );
  expect(lying.filter((path) => path.includes('unfinished'))).toEqual([]);
  expect(existsSync(join(root, 'catalog.duckdb'))).toBe(true);
});
