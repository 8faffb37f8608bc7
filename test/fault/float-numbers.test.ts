/**
 * Numbers of a service that computes with doubles, and of more digits than sums have: stored as stated, and never an error of the
 * database.
 */

import { join } from 'node:path';

import { afterEach, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import { formatDecimal, parseDecimal } from '../../src/model/column-type.ts';
import type { PublishTarget } from '../../src/config/config.ts';
import { column, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { deltaRows } from '../support/delta-reader.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { combined, replacedValue } from '../support/report-mutations.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import type { Slice } from '../../src/model/slice.ts';

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';

const given = {
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
  refresh: 'nightly',
} as const;
const daily = slice({ ...given, name: 'daily' });

let scenario: Scenario;
afterEach(() => scenario.close());

const open = async (): Promise<void> => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
};
const script = (mutate: ReportMutation): (() => void) =>
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
const costs = (...texts: readonly string[]): ReportMutation =>
  combined(...texts.map((text, row) => replacedValue(row, 'cost', text)));
const typeOf = async (name: string): Promise<string> =>
  (await column(scenario, `select column_type from (describe daily) where column_name = '${name}'`)).join();
const at = (name: string): string => join(scenario.directory, name);

/** A copy of each kind. */
const copies = (): readonly PublishTarget[] => [
  { kind: 'parquet', path: at('lake'), mode: 0o644 },
  { kind: 'delta', path: at('tables'), mode: 0o644, keepMs: 86_400_000 },
  { kind: 'duckdb', path: at('copy.duckdb'), mode: 0o644 },
];

/** That every copy of `daily` gives what the warehouse gives; returns that. */
async function sameInCopies(select: string): Promise<readonly Record<string, unknown>[]> {
  const held = await query(scenario, `${select} from daily order by all`);
  for (const [file, from] of [
    [':memory:', `read_parquet('${at('lake/daily/*/data.parquet')}')`],
    [':memory:', `read_parquet('${at('lake/daily/*/data.parquet')}', union_by_name = true)`],
    [at('copy.duckdb'), 'daily'],
    [':memory:', await deltaRows(at('tables/daily'))],
  ] as const) {
    expect(await ask(file, `${select} from ${from} order by all`)).toEqual(held);
  }
  return held;
}

/** One slice for each case, told apart by a filter that filters nothing. */
async function openCases(
  mutations: readonly ReportMutation[],
): Promise<{ readonly slices: readonly Slice[]; readonly restore: () => void }> {
  const slices = mutations.map((_, index) =>
    slice({ ...given, name: `case_${index}`, parameters: { os_name__not_in: `none ${index}` } }),
  );
  scenario = await openScenario(slices, { simulator: { world: smallWorld } });
  const restores = mutations.map((mutate, index) => {
    const match = reports({ os_name__not_in: `none ${index}` });
    return scenario.simulator.script({ match, times: Infinity, fault: { kind: 'report', mutate } });
  });
  return { slices, restore: () => restores.forEach((restore) => restore()) };
}

/** Refetches the days of every case. */
async function refetch(slices: readonly Slice[], end: string): Promise<void> {
  const forced = { start: day('2026-05-28'), end: day(end) };
  const request = { command: 'backfill', slices: slices.map(({ name }) => name), forced } as const;
  expect((await runNight(scenario, FIRST, { request })).failures).toEqual([]);
}

describe('money', () => {
  const cases = [
    ['1.4210854715202004e-10', 'DECIMAL(38,26)', '0.00000000014210854715202004'],
    ['1.4e-10', 'DECIMAL(23,11)', '0.00000000014'],
    ['0.30000000000000004', 'DECIMAL(29,17)', '0.30000000000000004'],
    ['0.00012345678901234567', 'DECIMAL(32,20)', '0.00012345678901234567'],
  ] as const;

  test('of four kinds makes its column as wide as it needs, and is stored as stated beside the others', async () => {
    const { slices, restore } = await openCases(cases.map(([text]) => costs(text)));
    const stands = async (one: Slice): Promise<{ readonly type: string; readonly others: number }> => {
      const types = await column(scenario, `select column_type from (describe ${one.name}) where column_name = 'cost'`);
      const { stored, truth } = await storedAndTrue(scenario, one, DAYS, FIRST);
      expect(stored.length).toBe(truth.length);
      return { type: types.join(), others: stored.filter((row) => !truth.includes(row)).length };
    };
    expect((await runNight(scenario, FIRST)).failures).toEqual([]);
    for (const [at, [, type, stored]] of cases.entries()) {
      expect((await column(scenario, `select cost::varchar from case_${at}`)).join()).toContain(stored.slice(1));
      expect(await stands(slices[at] ?? daily)).toEqual({ type, others: 1 });
    }

    // Requested again it is an ordinary one: the column stays, and only that total moved.
    restore();
    await refetch(slices, '2026-06-01');
    for (const [at, [, type]] of cases.entries())
      expect(await stands(slices[at] ?? daily)).toEqual({ type, others: 0 });
    expect(await column(scenario, 'select distinct slice from ripen.restatements')).toHaveLength(cases.length);
    expect(await column(scenario, 'select distinct metric from ripen.restatements')).toEqual(['cost']);
  });

  test('of -1.4e-14, which no decimal holds beside others, is set aside by name; who states DOUBLE gets the nearest one, in every copy', async () => {
    await open();
    const publish = copies();
    const restore = script(costs('12345678.123456'));
    expect((await scenario.night(FIRST, { publish })).failures).toEqual([]);
    const held = await column(scenario, 'select cost::varchar from daily order by all');
    restore();
    script(costs('-1.4210854715202004e-14', '12345678.123456'));
    const { failures } = await scenario.night(SECOND, { publish });
    expect(failures).toMatchObject([{ code: 'DATA_REJECTED', message: textWith('types: { cost: DOUBLE }') }]);
    expect(await column(scenario, 'select distinct reason from ripen.rejected_rows')).toEqual([textWith('e-14')]);
    expect(await typeOf('cost')).toBe('DECIMAL(18,6)');
    expect(await column(scenario, 'select cost::varchar from daily order by all')).toEqual(held);

    const floating = { ...daily, types: { cost: 'DOUBLE' } };
    const config = { publish, slices: [floating] };
    expect((await scenario.night(SECOND, config)).failures).toEqual([]);
    expect(await typeOf('cost')).toBe('DOUBLE');
    const select = 'select "day"::varchar as "day", app_token, os_name, installs::varchar as i, cost::varchar as c';
    const now = await sameInCopies(select);
    expect(now.map(({ c }) => c)).toEqual(expect.arrayContaining(['-1.4210854715202004e-14', '12345678.123456']));
  });
});

describe('a night that changes the types of two columns and asks for one day', () => {
  test('leaves the other days in every copy as they were, in the new types, and as final as they were', async () => {
    await open();
    const publish = copies();
    const ofOthers = `where "day" <> date '2026-05-28' order by all`;
    const finality = 'select period, metric, is_final, final_at from ripen.finality order by all';
    const states = 'select start_day, state, next_refresh_at from ripen.periods order by all';
    expect((await scenario.night(FIRST, { publish })).failures).toEqual([]);
    const before = await query(
      scenario,
      `select "day", app_token, os_name, installs::double as i, cost::double as c from daily ${ofOthers}`,
    );
    const stood = [await query(scenario, finality), await query(scenario, states)];

    script(combined(costs('0.30000000000000004'), replacedValue(1, 'installs', '7.5')));
    const order = {
      command: 'backfill',
      slices: ['daily'],
      forced: { start: day('2026-05-28'), end: day('2026-05-29') },
    } as const;
    expect((await scenario.night(FIRST, { publish }, order)).failures).toEqual([]);
    expect([await typeOf('cost'), await typeOf('installs')]).toEqual(['DECIMAL(29,17)', 'DECIMAL(20,1)']);
    expect(
      await query(
        scenario,
        `select "day", app_token, os_name, installs::double as i, cost::double as c from daily ${ofOthers}`,
      ),
    ).toEqual(before);
    expect([await query(scenario, finality), await query(scenario, states)]).toEqual(stood);

    const select = `select "day"::varchar as "day", app_token, os_name, installs::varchar as i, cost::varchar as c, typeof(installs) as it, typeof(cost) as ct`;
    await sameInCopies(select);
  });
});

test('totals that moved are recorded with every digit', async () => {
  const cases = [
    ['cost', '0.30000000000000004'],
    ['cost', '123456789012.12345678901234567'],
    ['cost', '1.4210854715202004e-10'],
    ['installs', '9223372036854775807'],
    ['installs', '99999999999999999999999999999999'],
  ] as const;
  const { slices, restore } = await openCases(cases.map(([metric, text]) => replacedValue(0, metric, text)));
  const totals = async (): Promise<string[]> =>
    Promise.all(
      cases.map(async ([metric], at) => {
        const sql = `select sum(${metric})::varchar from case_${at} where day = '2026-05-28'`;
        const [sum = ''] = await column(scenario, sql);
        return formatDecimal(parseDecimal(sum) ?? { negative: false, whole: sum, fraction: '' });
      }),
    );
  expect((await runNight(scenario, FIRST)).failures).toEqual([]);
  const before = await totals();
  restore();
  await refetch(slices, '2026-05-29');
  const after = await totals();
  for (const [at, [metric]] of cases.entries()) {
    const sql = `select before_text, after_text from ripen.restatements where metric = '${metric}' and slice = 'case_${at}'`;
    expect(await query(scenario, sql)).toEqual([{ before_text: before[at], after_text: after[at] }]);
  }
});

describe('two counts of 38 digits in one window', () => {
  test('are stored, restated and published, though their sum has more digits than a decimal', async () => {
    await open();
    const large = ['99999999999999999999999999999999999999', '99999999999999999999999999999999999998'];
    const counts = (...texts: readonly string[]): ReportMutation =>
      combined(...texts.map((text, row) => replacedValue(row, 'installs', text)));
    const publish = copies();
    const restore = script(counts(...large));
    expect((await scenario.night(FIRST, { publish })).failures).toEqual([]);
    expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
    expect(await column(scenario, 'select installs::varchar from daily')).toEqual(expect.arrayContaining(large));
    restore();
    script(counts(...large.toReversed(), large[0] ?? ''));
    expect((await scenario.night(SECOND, { publish })).failures).toEqual([]);
    expect(await column(scenario, 'select metric from ripen.restatements')).toContain('installs');
  });
});
