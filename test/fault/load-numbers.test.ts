/** Numbers the service may write: stored exactly as stated, or set aside with a reason; never rounded, clipped or NULL. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { column, contentOf, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { bareMetric, combined, limitedRows, replacedValue, wrongTotal } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const NEXT = new Date('2026-06-02T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
} as const;

/** One slice for each mutation, told apart by a filter that filters nothing. */
const sliceOf = (index: number): Slice =>
  slice({ ...given, name: `case_${index}`, parameters: { os_name__not_in: `none ${index}` } });

async function openCases(mutations: readonly ReportMutation[]): Promise<Scenario> {
  const opened = await openScenario(
    mutations.map((_, index) => sliceOf(index)),
    { simulator: { world: smallWorld } },
  );
  for (const [index, mutate] of mutations.entries()) {
    const match = reports({ os_name__not_in: `none ${index}` });
    opened.simulator.script({ match, times: 1, fault: { kind: 'report', mutate } });
  }
  return opened;
}

describe('a number', () => {
  const asText = (metric: string, text: string): ReportMutation => replacedValue(0, metric, text);
  const bare = (metric: string, text: string): ReportMutation => bareMetric(0, metric, text);
  const cases = [
    ['"7.5" in an integer metric', 'installs', asText, '7.5', '7.5', 'DECIMAL(20,1)'],
    ['"10.0" in an integer metric', 'installs', asText, '10.0', '10', 'BIGINT'],
    ['2^53 + 1 in an integer metric', 'installs', asText, '9007199254740993', '9007199254740993', 'BIGINT'],
    ['2^53 + 1 as a bare JSON number', 'installs', bare, '9007199254740993', '9007199254740993', 'BIGINT'],
    ['19 digits above 2^63', 'installs', asText, '9999999999999999999', '9999999999999999999', 'DECIMAL(19,0)'],
    ['20 digits', 'installs', asText, '12345678901234567891', '12345678901234567891', 'DECIMAL(20,0)'],
    [
      '20 digits as a bare JSON number',
      'installs',
      bare,
      '12345678901234567891',
      '12345678901234567891',
      'DECIMAL(20,0)',
    ],
    [
      '30 digits',
      'installs',
      asText,
      '123456789012345678901234567891',
      '123456789012345678901234567891',
      'DECIMAL(30,0)',
    ],
    ['1e-7 of money', 'cost', asText, '1e-7', '0.0000001', 'DECIMAL(19,7)'],
    ['1e-7 of money as a bare JSON number', 'cost', bare, '1e-7', '0.0000001', 'DECIMAL(19,7)'],
    ['ten decimals of money', 'cost', asText, '12.0123456789', '12.0123456789', 'DECIMAL(22,10)'],
    ['13 digits of money before the point', 'cost', asText, '1234567890123.5', '1234567890123.500000', 'DECIMAL(19,6)'],
    ['1.5E+3 of money', 'cost', asText, '1.5E+3', '1500.000000', 'DECIMAL(18,6)'],
    [
      '25 digits with a fraction, bare',
      'cost',
      bare,
      '1234567890123456789.012345',
      '1234567890123456789.012345',
      'DECIMAL(25,6)',
    ],
    [
      '38 digits of money',
      'cost',
      asText,
      '12345678901234567890123456.012345678912',
      '12345678901234567890123456.012345678912',
      'DECIMAL(38,12)',
    ],
    ['17 digits of a ratio', 'ecpi', asText, '0.12345678901234567', '0.12345678901234566', 'DOUBLE'],
  ] as const;
  let scenario: Scenario;
  let summary: SyncSummary;
  beforeAll(async () => {
    scenario = await openCases(cases.map(([, metric, how, text]) => how(metric, text)));
    summary = await runNight(scenario, NOW);
  });
  afterAll(() => scenario.close());

  test.each(cases.map((each, index) => ({ name: each[0], index })))(
    'of $name is stored exactly, in a column as wide as it needs',
    async ({ index }) => {
      const [, metric = 'installs', , , stored, type] = cases[index] ?? [];
      const table = `case_${index}`;
      expect(summary.failures.filter((failure) => failure.slice === table)).toEqual([]);
      expect(
        await column(
          scenario,
          `select data_type from duckdb_columns() where table_name = '${table}' and column_name = '${metric}'`,
        ),
      ).toEqual([type]);
      expect(await column(scenario, `select cast(${metric} as varchar) from ${table}`)).toContain(stored);
      const { stored: rows, truth } = await storedAndTrue(scenario, sliceOf(index), DAYS, NOW);
      const known = new Set(truth);
      expect(rows.filter((row) => !known.has(row)).length, 'rows that differ from the truth').toBe(1);
      expect(rows.length).toBe(truth.length);
      const isWidened = !['BIGINT', 'DECIMAL(18,6)', 'DOUBLE'].includes(type ?? '');
      expect(
        await query(
          scenario,
          `select name, before, after from ripen.schema_changes where change = 'column widened' and object = '${table}'`,
        ),
      ).toEqual(
        isWidened ? [{ name: metric, before: metric === 'cost' ? 'DECIMAL(18,6)' : 'BIGINT', after: type }] : [],
      );
    },
  );

  test('of 20 digits that is an ordinary one when asked again leaves its column wide, and both totals in the restatements', async () => {
    const forced = { start: day('2026-05-28'), end: day('2026-05-29') };
    const sum = async (): Promise<string> =>
      (await column(scenario, "select sum(installs) from case_5 where day = '2026-05-28'"))[0] ?? '';
    const before = await sum();
    const again = await runNight(scenario, NOW, { request: { command: 'backfill', slices: ['case_5'], forced } });

    expect(again.failures).toEqual([]);
    expect(again.slices[0]?.restated_periods).toBe(1);
    expect(before.length).toBe(20);
    expect(
      await query(
        scenario,
        'select metric, cast(before as decimal(38, 0)) as before, cast(after as decimal(38, 0)) as after from ripen.restatements',
      ),
    ).toEqual([{ metric: 'installs', before, after: await sum() }]);
    expect(await column(scenario, 'select typeof(installs) from case_5 limit 1')).toEqual(['DECIMAL(20,0)']);
  });
});

describe('what is no number', () => {
  const forms = [
    'NaN',
    'Infinity',
    '-inf',
    '1,234.5',
    '1_000',
    '0x10',
    '1e400',
    'n/a',
    '12 installs',
    '١٢',
    '1e',
    '.',
    '--5',
  ];
  const cases = [
    ...forms.map((text) => ({ text, metric: 'installs', mutate: replacedValue(0, 'installs', text) })),
    ...forms.map((text) => ({ text, metric: 'ecpi', mutate: replacedValue(0, 'ecpi', text) })),
    { text: '9'.repeat(39), metric: 'installs', mutate: replacedValue(0, 'installs', '9'.repeat(39)) },
  ];
  let scenario: Scenario;
  let summary: SyncSummary;
  beforeAll(async () => {
    scenario = await openCases(cases.map(({ mutate }) => mutate));
    summary = await runNight(scenario, NOW);
  });
  afterAll(() => scenario.close());

  test.each(cases.map(({ text, metric }, index) => ({ text, metric, index })))(
    '$text in $metric holds its window of 4 days and is recorded with its reason',
    async ({ text, metric, index }) => {
      const name = `case_${index}`;
      expect(summary.failures.filter((failure) => failure.slice === name)).toMatchObject([
        { code: 'DATA_REJECTED', slice: name, window: DAYS, message: textWith(text) },
      ]);
      expect(await column(scenario, `select count(*) from ${name}`)).toEqual(['0']);
      expect(await column(scenario, `select count(*) from ripen.periods where slice = '${name}'`)).toEqual(['0']);
      const rejected = await query(
        scenario,
        `select reason, row ->> '${metric}' as value, start_day, end_day from ripen.rejected_rows where slice = '${name}'`,
      );
      expect(rejected).toEqual([
        { reason: textWith(metric), value: text, start_day: '2026-05-28', end_day: '2026-06-01' },
      ]);
    },
  );

  test('makes the run end with exit code 65', async () => {
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
  });
});

describe('a window', () => {
  let scenario: Scenario;

  const spoil = (...texts: readonly string[]): void => {
    const mutate = combined(...texts.map((text, row) => replacedValue(row, 'installs', text)));
    scenario.simulator.script({ match: reports(), times: 1, fault: { kind: 'report', mutate } });
  };

  test('with 1 bad row under max_rejects 1 loads the other rows, warns, ends with 0, and stays due until it comes clean', async () => {
    const tolerant = slice({ ...given, maxRejects: 1, refresh: [30] });
    scenario = await openScenario([tolerant], { simulator: { world: smallWorld } });
    spoil('1,234.5');
    const summary = await runNight(scenario, NOW);
    const { stored, truth } = await storedAndTrue(scenario, tolerant, DAYS, NOW);

    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    expect(summary.slices[0]?.rows).toEqual({ fetched: truth.length, loaded: truth.length - 1, rejected: 1 });
    expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
    expect(await column(scenario, 'select code from ripen.warnings')).toEqual(['REJECTED_ROWS']);
    expect(truth).toEqual(expect.arrayContaining(stored));
    expect(stored.length).toBe(truth.length - 1);

    const second = await runNight(scenario, NEXT);
    expect(second.slices[0]?.periods).toMatchObject({ missing: 1 });
    // The spoiled day alone is asked for again; the others stay as of the first night.
    const clean = await storedAndTrue(scenario, tolerant, DAYS, NEXT);
    const spoiledDay = (rows: readonly string[]): string[] => rows.filter((row) => row.startsWith('["2026-05-28"'));
    expect(spoiledDay(clean.stored)).toEqual(spoiledDay(clean.truth));
    expect(clean.stored).toHaveLength(truth.length);
    expect((await runNight(scenario, new Date('2026-06-03T02:30:00Z'))).slices[0]?.requests ?? 0).toBe(0);
  });

  test('with 1 bad row under max_rejects 1 and 2 rows missing is divided: the totals of the other metrics show that some are', async () => {
    const tolerant = slice({ ...given, maxRejects: 1 });
    scenario = await openScenario([tolerant], { simulator: { world: smallWorld } });
    const mutate = combined(replacedValue(0, 'installs', 'NaN'), limitedRows(14, null));
    scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
    const summary = await runNight(scenario, NOW);

    const { truth } = await storedAndTrue(scenario, tolerant, DAYS, NOW);
    expect(truth).toHaveLength(16);
    // Of each half one row is bad.
    expect(summary).toMatchObject({
      failures: [],
      slices: [{ rows: { fetched: truth.length, loaded: truth.length - 2, rejected: 2 } }],
    });
  });

  test('with 2 bad rows under max_rejects 1 is held, and what was loaded the night before stays', async () => {
    scenario = await openScenario([slice({ ...given, maxRejects: 1, refresh: 'nightly' })], {
      simulator: { world: smallWorld },
    });
    await runNight(scenario, NOW);
    const before = await contentOf(scenario, 'daily');
    spoil('NaN', '0x10');
    const summary = await runNight(scenario, NEXT);

    expect(summary.failures).toMatchObject([{ code: 'DATA_REJECTED', hint: textWith('max_rejects') }]);
    expect(await contentOf(scenario, 'daily')).toEqual(before);
    expect((await runNight(scenario, NEXT)).slices[0]).toMatchObject({
      windows: { loaded: 1 },
      periods: { maturing: 4 },
    });
  });

  test.each([
    [4, 'loaded'],
    [4000, 'held'],
  ])(
    'whose count of 2^53 + 1 has a total that is off by %d is %s: above 2^53 a total is as exact as adding floats',
    async (by, outcome) => {
      scenario = await openScenario([slice(given)], { simulator: { world: smallWorld } });
      const mutate = combined(replacedValue(0, 'installs', '9007199254740993'), wrongTotal('installs', by));
      scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
      const summary = await runNight(scenario, NOW);
      expect(new Set(summary.failures.map(({ code }) => code))).toEqual(
        new Set(outcome === 'held' ? ['DATA_INCOMPLETE'] : []),
      );
    },
  );
});
