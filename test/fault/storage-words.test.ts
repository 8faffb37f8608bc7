/** FAULTS 23: a disk, a folder, open files or memory that give out, in the words of the engine and the system: told as what they are, with what helps. */

import { syncBuiltinESMExports } from 'node:module';

import { DuckDBConnection } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';

import { asFailure } from '../../src/errors.ts';
import { day } from '../../src/model/calendar.ts';
import { asPublishFailure } from '../../src/publish/report.ts';
import { textWith } from '../support/matching.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const FULL =
  'TransactionContext Error: Failed to commit: Could not write file "/data/w.duckdb.wal": No space left on device';
const GONE =
  'TransactionContext Error: Failed to commit: Cannot open file "/data/w.duckdb.wal": No such file or directory';

let scenario: Scenario;

beforeEach(async () => {
  const slice = dailyInstalls({ first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } });
  scenario = await openScenario([slice], { simulator: { world: smallWorld } });
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test.each([FULL, GONE])('a commit that ends with "%s" is STORAGE_FAILED, of a load as of a copy', async (words) => {
  const target = { kind: 'duckdb', path: '/data/s.duckdb', mode: 0o644 } as const;
  expect(asPublishFailure(target, new Error(words))).toMatchObject({
    code: 'STORAGE_FAILED',
    message: textWith(words),
  });
  const run: unknown = Reflect.get(DuckDBConnection.prototype, 'run');
  if (typeof run !== 'function') throw new TypeError('run is no function');
  Reflect.set(DuckDBConnection.prototype, 'run', function failing(this: unknown, ...given: unknown[]): unknown {
    const ran: unknown = given[0] === 'commit' ? Promise.reject(new Error(words)) : Reflect.apply(run, this, given);
    return ran;
  });
  onTestFinished(() => {
    Reflect.set(DuckDBConnection.prototype, 'run', run);
  });
  const ended = await scenario.night(NOW).catch((error: unknown) => ({ failures: [asFailure(error)] }));
  expect(ended.failures[0]).toMatchObject({ code: 'STORAGE_FAILED', message: textWith(words) });
});
