/** Keys of rows that nobody asked for: kept beside the row, and never lost where one of two rows is. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { type ReportMutation, rowsOf } from '../support/simulator/mutations.ts';
import { column, query, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { combined, duplicatedRow, extraKey } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';
const world = smallWorld;

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
} as const;

const report = (mutate: ReportMutation): Fault => ({ kind: 'report', mutate });

let scenario: Scenario;

test('a key nobody asked for is kept in _extra for its rows, with a warning', async () => {
  scenario = await openScenario([slice(given)], { simulator: { world } });
  scenario.simulator.script({ match: reports(), times: 1, fault: report(extraKey('surprise', { deep: [1, '2'] })) });
  const summary = await runNight(scenario, NOW);
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(await column(scenario, 'select distinct _extra::varchar from daily')).toEqual([
    '{"surprise":{"deep":[1,"2"]}}',
  ]);
  expect(await query(scenario, 'select code, message from ripen.warnings')).toMatchObject([
    { code: 'UNKNOWN_KEYS', message: textWith('surprise') },
  ]);
  const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
  expect(stored).toEqual(truth);
});

test.each([
  ['once with a key nobody asked for', [{ surprise: '1' }], ['"surprise":"1"']],
  [
    'with two values of a key nobody asked for',
    [{ surprise: '1' }, { surprise: '2' }],
    ['"surprise":"1"', '"surprise":"2"'],
  ],
])('a row that comes twice, %s, fails its window and shows both', async (_, changes, shown) => {
  scenario = await openScenario([slice(given)], { simulator: { world } });
  const mutate = combined(...changes.map((change) => duplicatedRow(0, change)));
  scenario.simulator.script({ match: reports(), times: Infinity, fault: report(mutate) });
  const { failures } = await runNight(scenario, NOW);
  expect(failures).toMatchObject([{ code: 'DATA_DUPLICATE_KEY', window: DAYS }]);
  for (const text of shown) expect(failures[0]?.message).toContain(text);
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
});

test.each<[string, object, object, string]>([
  ['null in one and absent in the other', { surprise: null }, {}, '{"surprise":null}'],
  [
    'a list of keys in another order, one of them null',
    { surprise: { b: [1, { y: 2, x: null }], a: '1' } },
    { surprise: { a: '1', b: [1, { y: 2 }] } },
    '{"surprise":{"a":"1","b":[1,{"x":null,"y":2}]}}',
  ],
])(
  'a row that comes twice with a key nobody asked for that is %s is stored once, and its totals prove the window',
  async (_, one, other, kept) => {
    scenario = await openScenario([slice(given)], { simulator: { world } });
    const first: ReportMutation = (document) => {
      const [row, ...rest] = rowsOf(document);
      return { ...document, rows: [{ ...row, ...one }, ...rest] };
    };
    // Its totals count a row once.
    const second: ReportMutation = (document) => {
      const [row, ...rest] = rowsOf(document);
      const { surprise: _surprise, ...plain } = row ?? {};
      return { ...document, rows: [...rest, row, { ...plain, ...other }] };
    };
    scenario.simulator.script({ match: reports(), times: 1, fault: report(combined(first, second)) });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(await column(scenario, 'select _extra::varchar from daily where _extra is not null')).toEqual([kept]);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
    expect(await column(scenario, "select count(*) from ripen.warnings where code = 'DUPLICATE_ROWS'")).toEqual(['1']);
  },
);

test.each<[string, object, object]>([
  ['of lists in another order', { surprise: [1, 2] }, { surprise: [2, 1] }],
  ['of null in a list, and of a shorter list', { surprise: [1, null] }, { surprise: [1] }],
  ['of an empty list, and of an empty object', { surprise: [] }, { surprise: {} }],
  ['of a text, and of a number', { surprise: '1' }, { surprise: 1 }],
  ['of nested keys, and of a dot', { surprise: { a: { b: 1 } } }, { surprise: { a: {}, 'a.b': 1 } }],
])('2 rows of one key with values %s, under a key nobody asked for, are different', async (_, one, other) => {
  scenario = await openScenario([slice(given)], { simulator: { world } });
  const mutate: ReportMutation = (document) => {
    const [row, ...rest] = rowsOf(document);
    return { ...document, rows: [{ ...row, ...one }, ...rest, { ...row, ...other }] };
  };
  scenario.simulator.script({ match: reports(), times: Infinity, fault: report(mutate) });
  expect((await runNight(scenario, NOW)).failures).toMatchObject([{ code: 'DATA_DUPLICATE_KEY', window: DAYS }]);
});

test('a row that comes twice with the same key nobody asked for is stored once', async () => {
  scenario = await openScenario([slice(given)], { simulator: { world } });
  const mutate = combined(extraKey('surprise', { deep: 1 }), duplicatedRow(0));
  scenario.simulator.script({ match: reports(), times: 1, fault: report(mutate) });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
  expect(stored).toEqual(truth);
});
