/**
 * Random nights: whatever the service answers, the operator configures and the calendar brings, every law holds.
 *
 * `RIPEN_FUZZ_SEQUENCES` says how many sequences; `RIPEN_FUZZ_SEED` and `RIPEN_FUZZ_PATH` repeat a failure as it was printed.
 */

import { join } from 'node:path';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod';

import type { RunEvent } from '../../src/events.ts';
import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { property } from '../support/property.ts';
import { storedAndTrue } from '../support/contents.ts';
import { deltaRows } from '../support/delta-reader.ts';
import { runNight, reports } from '../support/night.ts';
import { limitedRows, nullRows, replacedValue, wrongTotal } from '../support/report-mutations.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import type { Fault } from '../support/simulator/faults.ts';
import type { Quirks } from '../support/simulator/quirks.ts';
import { slice } from '../support/slice.ts';
import { storedRows } from '../support/truth.ts';

const environment = (name: string, otherwise: string): string =>
  process.env[`RIPEN_FUZZ_${name}`] ?? otherwise;
const numRuns = Number(environment('SEQUENCES', '6'));
const seed = Number(environment('SEED', '1'));
const path = environment('PATH', '');

const FIRST_DAY = '2026-03-02';
const START_MS = Date.parse('2026-03-20T02:30:00Z');
const DAY_MS = 86_400_000;
/** After the horizon of every metric of the slices. */
const LONG_AFTER_DAYS = 80;

const report = (mutate: Extract<Fault, { kind: 'report' }>['mutate']): Fault => ({
  kind: 'report',
  mutate,
});

/** What a night's answers suffer, one in so many. */
const faults: readonly Fault[] = [
  { kind: 'status', status: 204, body: 'empty' },
  { kind: 'status', status: 504 },
  { kind: 'status', status: 429 },
  { kind: 'status', status: 400 },
  { kind: 'cut' },
  { kind: 'garbled', edit: 'truncated' },
  { kind: 'too_heavy', maxRows: 12 },
  report(wrongTotal('installs', 1)),
  report(limitedRows(3, null)),
  report(nullRows()),
  report(replacedValue(0, 'installs', 'many')),
  report(replacedValue(0, 'day', '2026-01-01')),
];

const quirks: readonly Partial<Quirks>[] = [
  {},
  { cap: 9 },
  { pages: { size: 7, style: 'v1', last: 'null', totals: 'whole' } },
  { rounding: 2 },
  { maxRows: 20 },
];

const extraMetrics = ['clicks', 'cost', 'all_revenue_total_d7', 'ecpi', 'cohort_size_d30'];

const night = fc.record({
  pauseDays: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 9 })),
  fault: fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    { weight: 3, arbitrary: fc.constantFrom(...faults) },
  ),
  times: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 4 })),
  /** A metric that is added, or removed where it was there. */
  toggled: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom(...extraMetrics) },
  ),
  currency: fc.oneof(
    { weight: 9, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom('USD', 'EUR') },
  ),
  isStopped: fc.oneof(
    { weight: 6, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.boolean() },
  ),
  /** Most of a small night's time is its copies. */
  isPublished: fc.oneof(
    { weight: 2, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

const sequence = fc.record({
  world: fc.integer({ min: 1, max: 1000 }),
  quirk: fc.constantFrom(...quirks),
  dimensions: fc.constantFrom(
    ['day', 'os_name'],
    ['day', 'app_token', 'country_code'],
    ['week', 'os_name'],
    ['os_name'],
  ),
  refresh: fc.constantFrom('milestones' as const, 'nightly' as const),
  rolls: fc.boolean(),
  nights: fc.array(night, { minLength: 1, maxLength: 5 }),
});

type Night = typeof night extends fc.Arbitrary<infer T> ? T : never;

/** The days, both included, that the slice covers in a night: a day that left a rolling date period stays, but not without dates. */
function daysOf({ datePeriod: { first }, grain }: Slice, firstAt: Date, at: Date): string {
  const back = (days: number, from: Date): string =>
    new Date(from.getTime() - days * DAY_MS).toISOString().slice(0, 10);
  return `${'daysAgo' in first ? back(first.daysAgo, grain === null ? at : firstAt) : FIRST_DAY}:${back(1, at)}`;
}

/** The slice after a night's change of its configuration. */
function changed(declared: Slice, { toggled, currency }: Night): Slice {
  if (toggled === null && currency === null) return declared;
  const { metrics } = declared;
  const others = metrics.filter((each) => each !== toggled);
  return {
    ...declared,
    metrics: toggled === null || others.length < metrics.length ? others : [...metrics, toggled],
    parameters: { ...declared.parameters, ...(currency === null ? {} : { currency }) },
  };
}

/** Runs the nights, each once as it is drawn and once undisturbed, and holds the laws after each of the latter. */
async function expectLaws(
  scenario: Scenario,
  first: Slice,
  nights: readonly Night[],
): Promise<void> {
  const tables = join(scenario.directory, 'tables');
  const publish = [{ kind: 'delta', path: tables, mode: 0o644, keepMs: DAY_MS }] as const;
  const publishing = { ...scenario, config: { ...scenario.config, publish } };
  const firstAt = new Date(START_MS + (nights[0]?.pauseDays ?? 0) * DAY_MS);
  let [declared, at] = [first, new Date(START_MS)];
  /** The slice as readers see it, and its rows: of the meaning before, while a changed one waits for a second empty answer. */
  let [served, rows] = [first, [] as readonly string[]];
  /** The cells that the service stated since the currency last changed; a metric that goes leaves the others as they are. */
  let stated = new Set<string>();
  let finals: string[] = [];
  for (const each of nights) {
    at = new Date(at.getTime() + each.pauseDays * DAY_MS);
    const next = changed(declared, each);
    if (next.parameters['currency'] !== declared.parameters['currency']) stated = new Set();
    if (next !== declared) [declared, finals] = [next, []];
    const { fault, times } = each;
    const restore =
      fault === null ? null : scenario.simulator.script({ match: reports(), times, fault });
    const stop = new AbortController();
    const onEvent = ({ type }: RunEvent): void =>
      void (each.isStopped && type === 'window_loaded' && stop.abort());
    await runNight(scenario, at, { slices: [declared], signal: stop.signal, onEvent });
    restore?.();
    const undisturbed = each.isPublished ? publishing : scenario;
    scenario.events.length = 0;
    expect((await runNight(undisturbed, at, { slices: [declared] })).failures).toEqual([]);
    const isHeldBack = scenario.events.some(
      (event) => event.type === 'warning' && event.code === 'MEANING_HELD_BACK',
    );
    if (!isHeldBack) served = declared;

    const { stored, truth } = await storedAndTrue(scenario, served, daysOf(first, firstAt, at), at);
    if (!isHeldBack) for (const cell of cellsOf(truth, served)) stated.add(cell);
    const allowed = isHeldBack ? new Set(cellsOf(rows, served)) : stated;
    expect(cellsOf(stored, served).filter((cell) => !allowed.has(cell))).toEqual([]);
    expect(each.isPublished ? await countPublished(tables) : stored.length).toBe(stored.length);
    rows = stored;
    scenario.simulator.requested.reset();
    await runNight(scenario, at, { slices: [declared] });
    expect(scenario.simulator.requested.counts.report).toBe(0);
    if (isHeldBack) continue;
    finals.push(
      ...valuesOf(
        await scenario.inWarehouse((it) => storedRows(it, { ...declared, name: 'facts_final' })),
        declared,
      ),
    );
  }
  const end = new Date(at.getTime() + LONG_AFTER_DAYS * DAY_MS);
  const { truth } = await storedAndTrue(scenario, declared, daysOf(first, firstAt, at), end);
  const inTheEnd = new Set(valuesOf(truth, declared));
  expect(
    first.dimensions.includes('day') ? finals.filter((cell) => !inTheEnd.has(cell)) : [],
  ).toEqual([]);
}

async function countPublished(tables: string): Promise<unknown> {
  const rows = await ask(
    ':memory:',
    `select count(*)::integer as rows from (${await deltaRows(`${tables}/facts`)})`,
  );
  return rows[0]?.['rows'];
}

/** Each cell, with its row's key. */
function cellsOf(rows: readonly string[], { dimensions, metrics }: Slice): string[] {
  return rows.flatMap((text) => {
    const row = z.array(z.string().nullable()).parse(JSON.parse(text));
    const key = JSON.stringify([...row.slice(0, dimensions.length), row.at(-1)]);
    return metrics.map((metric, index) => `${key} ${metric} ${row[dimensions.length + index]}`);
  });
}

/** Each cell that has a value. */
const valuesOf = (rows: readonly string[], of: Slice): string[] =>
  cellsOf(rows, of).filter((cell) => !cell.endsWith(' NULL'));

test(
  `after each night of ${numRuns} sequences (seed ${seed}) rows are as stated, copies as the warehouse, and what is final stays`,
  property(
    [sequence],
    { numRuns, seed, endOnFailure: true, ...(path === '' ? {} : { path }) },
    async ({ world, quirk, dimensions, refresh, rolls, nights }) => {
      const declared = slice({
        name: 'facts',
        dimensions,
        metrics: ['installs'],
        datePeriod: {
          first: rolls ? { daysAgo: 14 } : { day: day(FIRST_DAY) },
          last: { daysAgo: 1 },
        },
        refresh,
      });
      const options = {
        seed: world,
        apps: 2,
        partners: 2,
        links: 4,
        rowsPerDay: 10,
        quirks: quirk,
      };
      const scenario = await openScenario([declared], {
        simulator: { world: options, gzip: world % 2 === 0 },
      });
      try {
        await expectLaws(scenario, declared, nights);
      } finally {
        await scenario.close();
      }
    },
  ),
  numRuns * 120_000,
);
