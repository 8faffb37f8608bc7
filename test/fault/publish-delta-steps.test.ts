/** Each step of a publish of Delta tables on disk fails, once or from there on: old or new is read, then all is complete and swept. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { readDelta, readLog, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { countSteps } from '../support/failing-step.ts';
import { heldRows, restate } from '../support/ledger-nights.ts';
import { openSample, type Sample } from '../support/sample-warehouse.ts';

/** Every how manyth step fails: all of them in the long form. */
const STEP = Number(process.env['RIPEN_DELTA_STEP'] ?? '53');

let sample: Sample;
beforeEach(async () => {
  sample = await openSample(5, 4);
});

const target = (keepMs = 3 * 86_400_000) =>
  ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs }) as const;
const at = (table: string): string => join(sample.path('tables'), table);
const held = async (): Promise<string> => JSON.stringify(sortedRows(await heldRows(sample)));
const read = async (version?: number): Promise<string> => JSON.stringify(await readDelta(at('network_daily'), version));

test.each(['once', 'from there on'] as const)(
  `a publish of which each ${STEP}. step fails %s leaves the old night or the new, the next completes it, and nothing is left over`,
  async (mode) => {
    await sample.publish([target()]);
    let old = await held();
    let failed = 0;
    for (let step = 1; ; step += STEP) {
      await restate(sample.warehouse, '2026-01-02', step);
      const now = await held();
      const steps = await countSteps((each) => (mode === 'once' ? each === step : each >= step));
      const hasFailed = await sample
        .publish([target()])
        .then(
          () => false,
          () => true,
        )
        .finally(() => steps.stop());
      const what = `step ${step}, ${steps.kinds[step - 1] ?? 'none'}`;
      const pinned = await read(versionsOf(at('ripen_finality')).at(-1));
      expect([old, now], what).toContain(pinned);
      expect([old, now], what).toContain(await read());
      await sample.publish([target()]);
      expect(await read(versionsOf(at('ripen_finality')).at(-1)), what).toBe(now);
      old = now;
      failed += hasFailed ? 1 : 0;
      if (steps.kinds.length < step) break;
    }
    expect(failed).toBeGreaterThan(2);
    for (let night = 0; night < 2; night += 1) await sample.publish([target(0)]);
    const active = (await readLog(at('network_daily'))).files.map(({ path }) => path);
    const lying = readdirSync(at('network_daily'), { recursive: true }).map(String);
    expect(lying.filter((path) => path.startsWith('day=') && path.endsWith('.parquet')).sort()).toEqual(active.sort());
    expect(lying.filter((path) => path.includes('unfinished'))).toEqual([]);
    expect(await read()).toBe(old);
  },
  3_600_000,
);
