import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  backfill,
  catalog,
  check,
  plan,
  readConfig,
  status,
  sync,
  type Config,
  type RunEvent,
} from '../../src/index.ts';
import { parseDay } from '../../src/model/calendar.ts';

const NIGHT = new Date('2026-02-14T02:30:00Z');

let directory = '';
let config: Config;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-library-'));
  await writeFile(
    join(directory, 'ripen.yaml'),
    `service: { simulator: { seed: 3, apps: 1, rows_per_day: 20, partners: 3, links: 3 } }
warehouse: w.duckdb
partners: false
slices: [{ name: daily, dimensions: [day], metrics: [installs], date_period: "-9d:yesterday", reattributed: all }]
`,
  );
  config = await readConfig({ directory, environment: {} });
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

test('the verbs are functions: check, plan, sync, plan again, status, backfill, catalog', async () => {
  expect(
    (await check(config, { asOf: NIGHT })).filter(({ code, severity }) => code !== null || severity === 'warning'),
  ).toStrictEqual([]);
  expect(await plan(config, { asOf: NIGHT })).toMatchObject({
    slices: [{ windows: [{ reasons: { new: 2 } }, { reasons: { new: 7 } }] }],
  });
  expect(await readdir(directory)).toStrictEqual(['ripen.yaml']);

  const events: RunEvent[] = [];
  const summary = await sync(config, { asOf: NIGHT, emit: (event) => events.push(event) });
  expect(summary).toMatchObject({ status: 'succeeded', slices: [{ periods: { new: 9 } }], failures: [] });
  expect(events.map(({ type }) => type)).toContain('window_loaded');

  expect(await plan(config, { asOf: NIGHT })).toMatchObject({ requests: 0 });
  expect(await status(config, { asOf: NIGHT })).toMatchObject({ slices: [{ periods: { loaded: 9, missing: 0 } }] });

  const [start, end] = [parseDay('2026-02-10'), parseDay('2026-02-12')];
  if (start === null || end === null) throw new Error('not a day');
  expect(await backfill(config, { slice: 'daily', days: { start, end }, asOf: NIGHT })).toMatchObject({
    slices: [{ periods: { forced: 2 } }],
  });
  expect((await catalog(config, { asOf: NIGHT, word: 'INSTALLS' })).map(({ id }) => id)).toContain('installs');
});

test('an unknown slice is refused with USAGE_INVALID', async () => {
  await expect(sync(config, { slices: ['dialy'] })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});
