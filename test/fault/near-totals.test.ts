/** Totals that agree with the rows, or with each other, but for rounding: what that proves, and what it does not. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { bareNumber } from '../support/simulator/answer.ts';
import type { Fault } from '../support/simulator/faults.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import { noQuirks, type Quirks } from '../support/simulator/quirks.ts';
import { column, query, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, reports, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const DAY = '2026-05-31:2026-05-31';

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  metrics: ['cost'],
  datePeriod: { first: { day: day('2026-05-31') }, last: { day: day('2026-05-31') } },
} as const;

let scenario: Scenario;

async function openWorld(quirks: Partial<Quirks>, metrics: readonly string[]): Promise<void> {
  const world = { apps: 1, partners: 3, links: 12, rowsPerDay: 80, quirks: { ...noQuirks, ...quirks } };
  scenario = await openScenario([slice({ ...given, metrics })], { simulator: { world } });
}

const verdicts = async (): Promise<string[]> => column(scenario, 'select distinct verdict from ripen.loads');
const warnings = async (): Promise<Record<string, unknown>[]> =>
  query(scenario, 'select code, message from ripen.warnings');

/** 300 rows, of which 200 come, and the total of all; those that are missing spent less than rounding may come to. */
function cutMoney(metrics: string): Fault {
  const row = (at: number): string =>
    `{"attr_dependency":{},"day":"2026-05-31","app_token":"a","network":"n${at}","os_name":"ios","country_code":"US",${metrics}}`;
  const rows = Array.from({ length: 200 }, (_, at) => row(at)).join(',');
  const totals = '{"cost":24690.90,"installs":200}';
  const text = `{"rows":[${rows}],"totals":${totals},"warnings":[],"pagination":null}`;
  return { kind: 'status', status: 200, body: { text, contentType: 'application/json' } };
}

test('of a slice of money alone, rows that lack less than rounding allows are loaded as unverifiable, with a warning', async () => {
  await openWorld({}, ['cost']);
  scenario.simulator.script({ match: reports(), times: Infinity, fault: cutMoney('"cost":"123.45"') });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  expect(await verdicts()).toEqual(['unverifiable']);
  expect(await warnings()).toEqual([
    {
      code: 'TOTALS_ROUNDED',
      message: textWith("The rows' cost added up to 24690.000000, the service's total was 24690.9"),
    },
  ]);
});

test('the same money beside a count that agrees exactly is proven by the count', async () => {
  await openWorld({}, ['installs', 'cost']);
  const fault = cutMoney('"installs":"1","cost":"123.45"');
  scenario.simulator.script({ match: reports(), times: Infinity, fault });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  expect(await verdicts()).toEqual(['proven']);
  expect(await warnings()).toEqual([]);
});

test.each<[string, string, Quirks['rounding']]>([
  ['totals to whole numbers', 'unverifiable', { rows: null, totals: 0, totalsOf: 'exact values' }],
  ['rows to the cent', 'unverifiable', { rows: 2, totals: null, totalsOf: 'exact values' }],
  ['rows to the cent, and states their totals', 'proven', { rows: 2, totals: 2, totalsOf: 'rounded rows' }],
  ['nothing', 'proven', null],
])(
  'of a slice of money alone and a service that rounds %s, every row is loaded as %s',
  async (_, verdict, rounding) => {
    await openWorld({ rounding }, ['cost']);
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, slice(given), DAY, NOW);
    expect(stored).toHaveLength(truth.length);
    expect(stored.length).toBeGreaterThan(70);
    expect(await verdicts()).toEqual([verdict]);
  },
);

/** The totals spelled otherwise on every other page. */
function turning(spell: (total: number) => unknown): ReportMutation {
  let page = 0;
  return (report) => {
    page += 1;
    const totals: readonly [string, unknown][] = Object.entries(report['totals'] ?? {});
    const spelled = totals.map(([name, total]): [string, unknown] => [
      name,
      page % 2 === 0 ? spell(Number(total)) : total,
    ]);
    return { ...report, totals: Object.fromEntries(spelled) };
  };
}

const nextDouble = (total: number): number => (Number.isInteger(total) ? total : total * (1 + 2 ** -52));

test.each<[string, (total: number) => unknown]>([
  ['as texts with zeros', (total) => `${total}${Number.isInteger(total) ? '.' : ''}00`],
  ['as numbers with an exponent', (total) => bareNumber(`${total}e0`)],
  ['with another last digit of a sum of doubles', nextDouble],
])('totals of the whole that pages repeat, every other %s, are those of the whole', async (_, spell) => {
  const pages: Quirks['pages'] = { size: 30, style: 'v1', last: 'null', totals: 'whole', misleads: null };
  const metrics = ['installs', 'cost'];
  await openWorld({ pages }, metrics);
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: turning(spell) } });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, slice({ ...given, metrics }), DAY, NOW);
  expect(stored).toEqual(truth);
  expect(await verdicts()).toEqual(['proven']);
  expect(askedReports(scenario)).toHaveLength(Math.ceil(stored.length / 30));
});
