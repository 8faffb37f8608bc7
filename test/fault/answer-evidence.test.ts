/** What an answer says against its own finality: cells it calls immature, when it was computed. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { type Cases, loadCases, tableOf } from '../support/cases.ts';
import { column } from '../support/contents.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

/** Long after the horizon of everything that is requested. */
const NOW = new Date('2026-06-01T02:30:00Z');
const given = {
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-01') }, last: { day: day('2026-05-03') } },
};

const beside = (members: object) =>
  ({ kind: 'report', mutate: (document: object) => ({ ...document, ...members }) }) as const;

test('a cell that its answer calls immature is not final after its horizon, until an answer does not say so', async () => {
  const scenario = await openScenario([slice({ ...given, name: 'daily' })], {
    simulator: { world: smallWorld },
  });
  const fault = beside({ immature_cohorts: { installs: ['2026-05-02'] } });
  scenario.simulator.script({ match: reports(), times: 1, fault });
  expect(await runNight(scenario, NOW)).toMatchObject({ status: 'succeeded', failures: [] });
  const due =
    "select coalesce(next_refresh_at::varchar, '-') from ripen.periods order by start_day";
  const immature =
    "select strftime(period, '%d') || ' ' || metric from ripen.finality where not is_final order by 1";
  expect(await column(scenario, immature)).toEqual(['02 installs']);
  const hidden = 'select distinct installs is null from daily_final where day = $$2026-05-02$$';
  expect(await column(scenario, hidden)).toEqual(['true']);
  const states = 'select state from ripen.periods order by start_day';
  expect(await column(scenario, states)).toEqual(['final', 'maturing', 'final']);
  // A week after the horizon and the milestones after it, 26 days lie behind: the next one is its lifetime.
  expect(await column(scenario, due)).toEqual(['-', '2026-08-31 01:00:00', '-']);
  expect(await runNight(scenario, new Date('2026-06-02T02:30:00Z'))).toMatchObject({
    service: { requests: 1 },
  });
  await runNight(scenario, new Date('2026-09-01T02:30:00Z'));
  expect(await column(scenario, immature)).toEqual([]);
  expect(await column(scenario, due)).toEqual(['-', '-', '-']);
});

describe('an answer', () => {
  const computed = (at: string | null) => ({ debug: { cached_at: at } });
  const all = ['01 cost', '01 installs', '02 cost', '02 installs', '03 cost', '03 installs'];
  /** What it says, which cells are not final then, under a horizon of 7 days, and the warnings. */
  const rows: readonly (readonly [
    name: string,
    says: object,
    immature: readonly string[],
    warns?: 'EVIDENCE_UNREAD',
  ])[] = [
    [
      'with cells it calls immature, by date',
      { immature_cohorts: { '2026-05-02': ['installs'] } },
      ['02 installs'],
    ],
    ['computed before its days existed', computed('2026-04-01T00:00:00Z'), all],
    [
      'computed when only the first day was over for 7 days',
      computed('2026-05-09T03:00:00Z'),
      all.slice(2),
    ],
    ['computed in another offset', computed('2026-05-09T03:00:00+04:00'), all],
    ['computed later than it was requested', computed('2099-01-01T00:00:00Z'), []],
    ['computed at no stated instant', computed(null), []],
    ['with a list of cohorts', { immature_cohorts: ['2026-05-01'] }, [], 'EVIDENCE_UNREAD'],
    [
      'with a metric that was not requested',
      { immature_cohorts: { clicks: ['2026-05-01'] } },
      [],
      'EVIDENCE_UNREAD',
    ],
    ['computed at an instant that is none', computed('yesterday'), [], 'EVIDENCE_UNREAD'],
  ];
  let cases: Cases;
  beforeAll(async () => {
    const of = { horizons: [{ pattern: '*', horizonMs: 7 * 86_400_000 }] };
    cases = await loadCases(
      given,
      rows.map(([, says]) => ({ fault: beside(says), times: 1, of })),
      NOW,
    );
  });
  afterAll(() => cases.close());

  test.each(
    rows.map(([name, , immature, warns], index) => [name, immature, warns, index] as const),
  )('%s leaves %j open, and is told as %s', async (_, immature, warns, index) => {
    expect(cases.summary.failures).toEqual([]);
    const of = `where slice = '${tableOf(index)}'`;
    const cells = `select strftime(period, '%d') || ' ' || metric from ripen.finality ${of} and not is_final order by 1`;
    expect(await column(cases.scenario, cells)).toEqual(immature);
    const codes = await column(cases.scenario, `select code from ripen.warnings ${of}`);
    expect(codes).toEqual(warns === undefined ? [] : [warns]);
  });
});
