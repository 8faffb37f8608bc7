/** The tiny service says the same in the process and over real HTTP. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import type { Service } from '../../src/service/service.ts';
import { connectTo, failureFrom } from '../support/scripted-server.ts';
import { calm, startTinyServer, tinyService, type Mood, type TinyNight } from '../support/tiny-service.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-tiny-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const question = {
  dimensions: 'day,country_code',
  metrics: 'installs,cost,ecpi,row count',
  date_period: '2026-01-05:2026-01-11',
  attribution_type: 'all',
};

const nightOf = (mood: Partial<Mood>): TinyNight => ({
  world: { seed: 7, countries: 3, oddTexts: true, unknownCountry: 'null', weekStart: 1, otherWeekFrom: null },
  mood: { ...calm, ...mood },
  nowMs: Date.parse('2026-02-01T00:00:00Z'),
});

async function inBothWays<T>(night: TinyNight, use: (service: Service) => Promise<T>): Promise<readonly [T, T]> {
  const server = await startTinyServer(() => night);
  const { service } = connectTo(server.origin);
  try {
    return [await use(service), await use(tinyService(night))];
  } finally {
    await service.close();
    await server.close();
  }
}

test.each<[string, Partial<Mood>]>([
  ['the truth', {}],
  ['rounded totals and an unasked key', { totals: 'rounded', unasked: 2 }],
  ['rows cut in silence', { cap: { rows: 5, totals: 'all', warns: false } }],
  ['nothing', { empty: { every: 1, from: 0, as: '204' } }],
])('of %s the same document is read', async (_, mood) => {
  const signal = new AbortController().signal;
  const [wire, inProcess] = await inBothWays(nightOf(mood), async (service) => {
    const saved = await service.report(question, join(directory, 'body'), signal);
    const catalog = await service.filtersData(
      { filters: ['overview_metrics', 'cohort_metrics', 'dimensions'] },
      signal,
    );
    const document: unknown = saved === null ? null : JSON.parse(await readFile(saved.path, 'utf8'));
    const items = catalog.items.map((item) => ({ ...item, attributes: null }));
    return { document, catalog: { ...catalog, items } };
  });
  expect(wire).toEqual(inProcess);
});

test.each<[number, Partial<Mood>]>([
  [504, { maxRows: 3 }],
  [403, { failing: { every: 1, from: 0, with: 403 } }],
  [400, { failing: { every: 1, from: 0, with: 400 } }],
])('%i is the same failure', async (_, mood) => {
  const signal = new AbortController().signal;
  const ask = (service: Service): Promise<unknown> => service.report(question, join(directory, 'body'), signal);
  const [wire, inProcess] = await inBothWays(nightOf(mood), async (service) => (await failureFrom(ask(service))).code);
  expect(wire).toBe(inProcess);
});
