/** FAULTS 13, 14: numbers the service may write: stored exactly as stated, or set aside with a reason; never rounded, clipped or NULL. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { formatDecimal, parseDecimal } from '../../src/model/column-type.ts';
import { type Cases, loadCases, tableOf } from '../support/cases.ts';
import { column, contentOf, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { bareMetric, combined, replacedValue } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { rowsOf, type ReportMutation } from '../support/simulator/mutations.ts';
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
const fault = (mutate: ReportMutation) => ({
  fault: { kind: 'report', mutate } as const,
  times: 1,
});

describe('a number', () => {
  const asText = (metric: string, text: string): ReportMutation => replacedValue(0, metric, text);
  const bare = (metric: string, text: string): ReportMutation => bareMetric(0, metric, text);
  const long = '123456789012345678901234567891';
  const wide = '12345678901234567890123456.012345678912';
  const cases: readonly (readonly [string, typeof asText, string, stored: string, type: string])[] =
    [
      ['installs', asText, '7.5', '7.5', 'DECIMAL(20,1)'],
      ['installs', asText, '10.0', '10', 'BIGINT'],
      ['installs', asText, '9007199254740993', '9007199254740993', 'BIGINT'],
      ['installs', bare, '9007199254740993', '9007199254740993', 'BIGINT'],
      ['installs', asText, '9999999999999999999', '9999999999999999999', 'DECIMAL(19,0)'],
      ['installs', bare, '12345678901234567891', '12345678901234567891', 'DECIMAL(20,0)'],
      ['installs', asText, long, long, 'DECIMAL(30,0)'],
      ['cost', asText, '1e-7', '0.0000001', 'DECIMAL(19,7)'],
      ['cost', bare, '1e-7', '0.0000001', 'DECIMAL(19,7)'],
      ['cost', asText, '12.0123456789', '12.0123456789', 'DECIMAL(22,10)'],
      ['cost', asText, '1234567890123.5', '1234567890123.500000', 'DECIMAL(19,6)'],
      ['cost', asText, '1.5E+3', '1500.000000', 'DECIMAL(18,6)'],
      ['cost', bare, '1234567890123456789.012345', '1234567890123456789.012345', 'DECIMAL(25,6)'],
      ['cost', asText, wide, wide, 'DECIMAL(38,12)'],
      ['cost', asText, '0.30000000000000004', '0.30000000000000004', 'DECIMAL(29,17)'],
      ['cost', asText, '1.4210854715202004e-10', '0.00000000014210854715202004', 'DECIMAL(38,26)'],
      ['cost', asText, '1.4e-10', '0.00000000014', 'DECIMAL(23,11)'],
      ['cost', asText, '0.00012345678901234567', '0.00012345678901234567', 'DECIMAL(32,20)'],
      [
        'cost',
        asText,
        '123456789012.12345678901234567',
        '123456789012.12345678901234567',
        'DECIMAL(29,17)',
      ],
      ['installs', asText, '9223372036854775807', '9223372036854775807', 'DECIMAL(19,0)'],
      ['installs', asText, '9'.repeat(32), '9'.repeat(32), 'DECIMAL(32,0)'],
      ['ecpi', asText, '0.12345678901234567', '0.12345678901234566', 'DOUBLE'],
    ];
  const usual: Readonly<Record<string, string>> = {
    installs: 'BIGINT',
    cost: 'DECIMAL(18,6)',
    ecpi: 'DOUBLE',
  };
  let loaded: Cases;
  beforeAll(async () => {
    loaded = await loadCases(
      given,
      cases.map(([metric, how, text]) => fault(how(metric, text))),
      NOW,
    );
  });
  afterAll(() => loaded.close());
  const differing = async (index: number, at = NOW): Promise<number> => {
    const { stored, truth } = await storedAndTrue(
      loaded.scenario,
      loaded.slices[index] ?? slice(given),
      DAYS,
      at,
    );
    expect(stored).toHaveLength(truth.length);
    return stored.filter((row) => !truth.includes(row)).length;
  };

  test.each(
    cases.map(
      ([metric, , text, stored, type], index) => [metric, text, stored, type, index] as const,
    ),
  )(
    'in %s stated as %s is stored as %s in a column of %s',
    async (metric, _, stored, type, index) => {
      const table = tableOf(index);
      expect(loaded.summary.failures.filter((failure) => failure.slice === table)).toEqual([]);
      const found = await query(
        loaded.scenario,
        `select ${metric}::varchar as v, typeof(${metric}) as t from ${table}`,
      );
      expect(found).toContainEqual({ v: stored, t: type });
      expect(await differing(index)).toBe(1);
      const widened = `select name, before, after from ripen.schema_changes where change = 'column widened' and object = '${table}'`;
      const before = usual[metric];
      expect(await query(loaded.scenario, widened)).toEqual(
        type === before ? [] : [{ name: metric, before, after: type }],
      );
    },
  );

  test('that is an ordinary one when requested again leaves its column wide; both totals are in the restatements, with every digit', async () => {
    const exact = cases.flatMap(([metric, , , , type], at) =>
      type === 'DOUBLE' ? [] : [{ metric, type, at }],
    );
    const totals = async (): Promise<string[]> =>
      Promise.all(
        exact.map(async ({ metric, at }) => {
          const sql = `select sum(${metric})::varchar from ${tableOf(at)} where day = '2026-05-28'`;
          const [sum = ''] = await column(loaded.scenario, sql);
          return formatDecimal(parseDecimal(sum) ?? { negative: false, whole: sum, fraction: '' });
        }),
      );
    const before = await totals();
    const forced = { start: day('2026-05-28'), end: day('2026-05-29') };
    const request = {
      command: 'backfill',
      slices: exact.map(({ at }) => tableOf(at)),
      forced,
    } as const;
    expect((await loaded.again(NOW, { request })).failures).toEqual([]);
    const after = await totals();
    for (const [index, { metric, type, at }] of exact.entries()) {
      const restated = `select metric, before_text, after_text from ripen.restatements where slice = '${tableOf(at)}'`;
      expect(await query(loaded.scenario, restated)).toEqual([
        { metric, before_text: before[index], after_text: after[index] },
      ]);
      expect(
        await column(loaded.scenario, `select distinct typeof(${metric}) from ${tableOf(at)}`),
      ).toEqual([type]);
      expect(await differing(at)).toBe(0);
    }
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
    '١٢',
    '1e',
    '--5',
  ];
  const cases = [
    ...forms.map((text) => ['installs', text] as const),
    ...['NaN', '1,234.5', '0x10', '1e400'].map((text) => ['ecpi', text] as const),
    ['installs', '9'.repeat(39)] as const,
    // No decimal holds it beside others.
    ['cost', '-1.4210854715202004e-14'] as const,
    ['installs', '-1.4210854715202004e-14'] as const,
  ];
  let loaded: Cases;
  beforeAll(async () => {
    loaded = await loadCases(
      given,
      cases.map(([metric, text]) => fault(replacedValue(0, metric, text))),
      NOW,
    );
  });
  afterAll(() => loaded.close());

  test.each(cases.map(([metric, text], index) => [metric, text, index] as const))(
    'in %s, %s, holds its window of 4 days and is recorded with its reason',
    async (metric, text, index) => {
      const name = tableOf(index);
      const failures = loaded.summary.failures.filter((failure) => failure.slice === name);
      expect(failures).toMatchObject([
        { code: 'DATA_REJECTED', window: DAYS, message: textWith(text) },
      ]);
      expect(await column(loaded.scenario, `select count(*) from ${name}`)).toEqual(['0']);
      expect(
        await column(loaded.scenario, `select count(*) from ripen.periods where slice = '${name}'`),
      ).toEqual(['0']);
      const rejected = `select reason, row ->> '${metric}' as value, start_day, end_day from ripen.rejected_rows where slice = '${name}'`;
      expect(await query(loaded.scenario, rejected)).toEqual([
        { reason: textWith(metric), value: text, start_day: '2026-05-28', end_day: '2026-06-01' },
      ]);
      expect(await lastRun(loaded.scenario)).toEqual({ status: 'failed', exit_code: 65 });
    },
  );
});

describe('a window', () => {
  let scenario: Scenario;
  const open = async (change: object = {}): Promise<ReturnType<typeof slice>> => {
    const declared = slice({ ...given, ...change });
    scenario = await openScenario([declared], { simulator: { world: smallWorld } });
    return declared;
  };
  const script = (times: number, ...mutations: readonly ReportMutation[]): (() => void) =>
    scenario.simulator.script({
      match: reports(),
      times,
      fault: { kind: 'report', mutate: combined(...mutations) },
    });
  const spoil = (...texts: readonly string[]): void =>
    void script(1, ...texts.map((text, row) => replacedValue(row, 'installs', text)));

  test('with 1 bad row under max_rejects 1 loads the other rows, warns, ends with 0, and stays due until it comes clean', async () => {
    const tolerant = await open({ maxRejects: 1, refresh: [30] });
    spoil('1,234.5');
    const summary = await runNight(scenario, NOW);
    const { stored, truth } = await storedAndTrue(scenario, tolerant, DAYS, NOW);
    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    expect(summary.slices[0]?.rows).toEqual({
      fetched: truth.length,
      loaded: truth.length - 1,
      rejected: 1,
    });
    expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
    expect(await column(scenario, 'select code from ripen.warnings')).toEqual(['REJECTED_ROWS']);
    expect(truth).toEqual(expect.arrayContaining(stored));

    const second = await runNight(scenario, NEXT);
    expect(second.slices[0]?.periods).toMatchObject({ missing: 1 });
    // The spoiled day alone is requested again; the others stay as of the first night.
    const clean = await storedAndTrue(scenario, tolerant, DAYS, NEXT);
    const spoiledDay = (rows: readonly string[]): string[] =>
      rows.filter((row) => row.startsWith('["2026-05-28"'));
    expect(spoiledDay(clean.stored)).toEqual(spoiledDay(clean.truth));
    expect(clean.stored).toHaveLength(truth.length);
    expect(
      (await runNight(scenario, new Date('2026-06-03T02:30:00Z'))).slices[0]?.requests ?? 0,
    ).toBe(0);
  });

  test('with no other than bad rows in a settled day keeps the good ones that are stored, and fails by that day alone', async () => {
    await open({ maxRejects: 10, refresh: 'nightly', lifetimeMs: 90 * 86_400_000 });
    await runNight(scenario, NOW);
    const ofDay = "(select * exclude (_load_id) from daily where day = '2026-05-28')";
    const before = await contentOf(scenario, ofDay);
    const bad: ReportMutation = (document) => {
      const rows = rowsOf(document).map((row) =>
        row['day'] === '2026-05-28' ? Object.assign(row, { installs: 'NaN' }) : row,
      );
      return { ...document, rows };
    };
    script(Infinity, bad);
    const { failures } = await runNight(scenario, new Date('2026-06-20T02:30:00Z'));
    expect(failures).toMatchObject([{ code: 'DATA_SHRUNK', window: '2026-05-28:2026-05-28' }]);
    expect(await contentOf(scenario, ofDay)).toEqual(before);
    expect(await column(scenario, 'select distinct reason from ripen.rejected_rows')).toHaveLength(
      1,
    );
  });

  test('with 2 bad rows under max_rejects 1 is held, and what was loaded the night before stays', async () => {
    await open({ maxRejects: 1, refresh: 'nightly' });
    await runNight(scenario, NOW);
    const before = await contentOf(scenario, 'daily');
    spoil('NaN', '0x10');
    const summary = await runNight(scenario, NEXT);
    expect(summary.failures).toMatchObject([
      { code: 'DATA_REJECTED', hint: textWith('max_rejects') },
    ]);
    expect(await contentOf(scenario, 'daily')).toEqual(before);
  });

  test('whose 2 bad rows were recorded when the disk became full leaves neither rows nor records, and both once there is room', async () => {
    await open({ maxRejects: 2 });
    script(Infinity, replacedValue(0, 'installs', '1,234.5'), replacedValue(1, 'installs', 'NaN'));
    const rejected = (): Promise<string[]> =>
      column(scenario, 'select count(*) from ripen.rejected_rows');
    let isRecorded = false;
    const steps = await countSteps((step) => {
      const isFull = isRecorded && steps.kinds[step - 1] !== 'rollback';
      if (steps.kinds[step - 1] === 'insert into ripen.rejected_rows') isRecorded = true;
      return isFull;
    });
    await runNight(scenario, NOW)
      .catch(() => null)
      .finally(() => steps.stop());
    expect(isRecorded).toBe(true);
    expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
    expect(await rejected()).toEqual(['0']);
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    expect(await rejected()).toEqual(['2']);
  });
});
