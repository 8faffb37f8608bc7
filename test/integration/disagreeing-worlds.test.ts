/** Services that disagree with what their caller expects, and are right: everything loads, equal to the truth. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { calculatedMetrics, noQuirks, type Quirks } from '../support/simulator/quirks.ts';
import { column, storedAndTrue } from '../support/contents.ts';
import { askedReports, reports, runNight } from '../support/night.ts';
import { openScenario, type Scenario, TOKEN } from '../support/scenario.ts';
import { isRecord, type JsonDocument } from '../support/simulator/answer.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  metrics: ['installs', 'clicks', 'cost', 'all_revenue_total_d7', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
});

let scenario: Scenario;

async function openWorld(quirks: Partial<Quirks>, of = daily): Promise<Scenario> {
  scenario = await openScenario([of], {
    simulator: {
      world: {
        apps: 2,
        partners: 4,
        links: 30,
        rowsPerDay: 120,
        quirks: { ...noQuirks, ...quirks },
      },
    },
  });
  return scenario;
}

const pages = { size: 24, style: 'v1', last: 'null', totals: 'whole' } as const;
const cap = 45;
const rounding = 1;

test.each<[string, Partial<Quirks>]>([
  [
    'pages at 24 rows by a bare cursor, with totals per page',
    { pages: { ...pages, style: 'cursor', totals: 'page' } },
  ],
  ['rounds totals, cuts at 45 rows and pages at 24', { rounding, cap, pages }],
])('of a service that %s every row is loaded', async (_, quirks) => {
  await openWorld(quirks);
  const summary = await runNight(scenario, NOW);
  expect(summary.failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NOW);
  expect(stored.length).toBeGreaterThan(300);
  expect(stored).toEqual(truth);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test('a service that names a next page for ever, of pages without rows, is refused after two of them', async () => {
  await openWorld({ pages: { ...pages, size: 100_000, last: 'endless' } });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_ENDLESS_PAGES']);
  expect(askedReports(scenario)).toHaveLength(3);
});

test('a second page with the credential in a row fails its window even under `completeness: warn`, and no row of it is loaded', async () => {
  const lenient = { ...daily, completeness: 'warn' as const };
  await openWorld({ pages }, lenient);
  const fault = {
    kind: 'report',
    mutate: (report) => {
      const rows = Array.isArray(report['rows']) ? report['rows'].filter(isRecord) : [];
      return { ...report, rows: rows.map((row) => Object.assign({}, row, { network: TOKEN })) };
    },
  } satisfies Fault;
  scenario.simulator.script({ match: ({ query }) => query.has('after'), times: Infinity, fault });
  const { failures } = await runNight(scenario, NOW);
  expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_MALFORMED']));
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
});

test('a metric of no documented form that does not add up is told once, not summed, and never asked for again because of that', async () => {
  const of = { ...daily, metrics: [...daily.metrics, ...calculatedMetrics.map(({ id }) => id)] };
  await openWorld({ metrics: calculatedMetrics }, of);
  const summary = await runNight(scenario, NOW);
  expect(summary.failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, of, DAYS, NOW);
  expect(stored).toEqual(truth);
  expect(
    await column(scenario, "select count(*) from ripen.warnings where code = 'NOT_ADDITIVE'"),
  ).toEqual(['1']);
  expect(
    await column(
      scenario,
      "select metric from ripen.slice_metrics where not additive and additivity = 'seen' order by 1",
    ),
  ).toEqual(['worth_of_an_install']);
  const before = askedReports(scenario).length;
  const next = await runNight(scenario, new Date('2026-06-02T02:30:00Z'));
  expect(next.failures).toEqual([]);
  expect(askedReports(scenario).length).toBeGreaterThan(before);
  expect(
    await column(scenario, "select count(*) from ripen.warnings where code = 'NOT_ADDITIVE'"),
  ).toEqual(['1']);
});

test('a metric of no documented form that adds up one night and not the next is loaded, told once, and not summed from then on', async () => {
  const id = 'weekly_guild_members';
  const metrics = [
    { id, formatting: 'integer', kind: 'count', listed: 'overview_metrics' },
  ] as const;
  await openWorld({ metrics }, { ...daily, metrics: ['installs', id], refresh: 'nightly' });
  const known = `select additive || ' ' || additivity from ripen.slice_metrics where metric = '${id}'`;
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  expect(await column(scenario, known)).toEqual(['true seen']);
  const mutate = (report: JsonDocument): JsonDocument => {
    const totals = isRecord(report['totals']) ? report['totals'] : {};
    return { ...report, totals: { ...totals, [id]: Number(totals[id]) - 3 } };
  };
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate },
  });
  for (const night of [2, 3]) {
    const { failures } = await runNight(scenario, new Date(Date.UTC(2026, 5, night, 2, 30)));
    expect(failures).toEqual([]);
    expect(await column(scenario, known)).toEqual(['false seen']);
  }
  expect(
    await column(scenario, "select count(*) from ripen.warnings where code = 'NOT_ADDITIVE'"),
  ).toEqual(['1']);
  expect(await column(scenario, 'select count(*) from ripen.loads')).toEqual(['3']);
});
