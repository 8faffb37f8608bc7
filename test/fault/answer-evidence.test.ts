/** What an answer says against its own finality: cells it calls immature, when it was computed, back-ends that failed. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { archived, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

/** Long after the horizon of everything that is requested. */
const NOW = new Date('2026-06-01T02:30:00Z');
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-01') }, last: { day: day('2026-05-03') } },
});

let scenario: Scenario;

const beside = (members: Readonly<Record<string, unknown>>): Fault => ({
  kind: 'report',
  mutate: (document) => ({ ...document, ...members }),
});

async function load(members: Readonly<Record<string, unknown>>, times = 1, of = daily): Promise<void> {
  scenario = await openScenario([of], { simulator: { world: smallWorld } });
  scenario.simulator.script({ match: reports(), times, fault: beside(members) });
  expect(await scenario.night(NOW, archived)).toMatchObject({ status: 'succeeded', failures: [] });
}

const CELLS = `select strftime(period, '%d') || ' ' || metric from ripen.finality where not is_final order by 1`;
const immatureCells = async (): Promise<string[]> => column(scenario, CELLS);
const warnings = async (): Promise<string[]> => column(scenario, 'select code from ripen.warnings');
const due = async (): Promise<string[]> =>
  column(scenario, "select coalesce(next_refresh_at::varchar, '-') from ripen.periods order by start_day");

describe('a cell that its answer calls immature', () => {
  test.each([
    ['by metric', { installs: ['2026-05-02'] }],
    ['by date', { '2026-05-02': ['installs'] }],
  ])('is not final after its horizon, named %s, until an answer does not say so', async (_, cohorts) => {
    await load({ immature_cohorts: cohorts });
    expect(await immatureCells()).toEqual(['02 installs']);
    expect(
      await column(scenario, 'select distinct installs is null from daily_final where day = $$2026-05-02$$'),
    ).toEqual(['true']);
    expect(await column(scenario, 'select state from ripen.periods order by start_day')).toEqual([
      'final',
      'maturing',
      'final',
    ]);
    expect(await warnings()).toEqual([]);
    // A week after the horizon and the milestones after it, 26 days lie behind: the next one is its lifetime.
    expect(await due()).toEqual(['-', '2026-08-31 01:00:00', '-']);
    expect(await scenario.night(new Date('2026-06-02T02:30:00Z'))).toMatchObject({ service: { requests: 1 } });
    await scenario.night(new Date('2026-09-01T02:30:00Z'));
    expect(await immatureCells()).toEqual([]);
    expect(await due()).toEqual(['-', '-', '-']);
  });

  test('is still not final when its archived answer is loaded again', async () => {
    await load({
      immature_cohorts: { cost: ['2026-05-01', '2026-05-03'] },
      debug: { cached_at: '2026-05-31T12:00:00' },
    });
    const before = await query(
      scenario,
      'select start_day, state, sound_at, computed_at, immature from ripen.periods order by 1',
    );
    await loseWarehouse(scenario);
    await replayInto(scenario);
    expect(await immatureCells()).toEqual(['01 cost', '03 cost']);
    expect(
      await query(scenario, 'select start_day, state, sound_at, computed_at, immature from ripen.periods order by 1'),
    ).toEqual(before);
  });
});

describe('an answer that was computed', () => {
  test.each<[string, unknown, string[]]>([
    [
      'before its days existed',
      '2026-04-01T00:00:00Z',
      ['01 cost', '01 installs', '02 cost', '02 installs', '03 cost', '03 installs'],
    ],
    [
      'when only the first day was over for 7 days',
      '2026-05-09T03:00:00Z',
      ['02 cost', '02 installs', '03 cost', '03 installs'],
    ],
    [
      'in another offset',
      '2026-05-09T03:00:00+04:00',
      ['01 cost', '01 installs', '02 cost', '02 installs', '03 cost', '03 installs'],
    ],
    ['later than it was requested', '2099-01-01T00:00:00Z', []],
    ['at no stated instant', null, []],
  ])('%s counts as fetched then', async (_, cachedAt, immature) => {
    // Of a horizon of 7 days.
    await load({ debug: { cached_at: cachedAt } }, 1, {
      ...daily,
      horizons: [{ pattern: '*', horizonMs: 7 * 86_400_000 }],
    });
    expect(await immatureCells()).toEqual(immature);
    expect(await warnings()).toEqual([]);
  });

  test('before the horizon is requested again at the milestones after it', async () => {
    const at = '2026-05-11T02:30:00Z';
    scenario = await openScenario([daily], { simulator: { world: smallWorld } });
    const stale = { debug: { cached_at: '2026-05-03T00:00:00Z' } };
    scenario.simulator.script({ match: reports(), times: 1, fault: beside(stale) });
    await scenario.night(new Date(at));
    expect(await due()).toEqual(expect.arrayContaining(['2026-05-12 00:00:00']));
    await scenario.night(new Date('2026-05-12T02:30:00Z'));
    expect(await column(scenario, 'select distinct computed_at is null from ripen.periods')).toEqual(['true']);
  });
});

test('the parts of a divided window add up in what they say', async () => {
  const oneDay = slice({
    ...daily,
    datePeriod: { first: { day: day('2026-05-01') }, last: { day: day('2026-05-01') } },
  });
  scenario = await openScenario([oneDay], { simulator: { world: smallWorld } });
  scenario.simulator.script({ match: reports(), times: 1, fault: { kind: 'status', status: 504 } });
  const stated = [{ cost: ['2026-05-01'] }, { installs: ['2026-05-01'] }];
  for (const [at, sign] of ['__in', '__not_in'].entries()) {
    const match = reports({ [`app_token${sign}`]: () => true });
    scenario.simulator.script({ match, times: 1, fault: beside({ immature_cohorts: stated[at] }) });
  }
  expect(await scenario.night(NOW)).toMatchObject({ failures: [] });
  expect(await immatureCells()).toEqual(['01 cost', '01 installs']);
});

test('an inner status of 500 beside rows is no answer: requested again, at last the window fails with the words', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  const debug = { service_urls: [{ status_code: 200 }, { url: 'https://kpi', status_code: 500 }] };
  scenario.simulator.script({ match: reports(), times: Infinity, fault: beside({ debug }) });
  const summary = await scenario.night(NOW);
  expect(summary).toMatchObject({ failures: [{ code: 'DATA_MALFORMED', message: textWith('status_code 500') }] });
  expect(await column(scenario, 'select count(*) from ripen.loads')).toEqual(['0']);
});

test('an inner status of 500 that passes is requested again and loaded', async () => {
  await load({ debug: { service_urls: [{ status_code: 500 }] } });
  expect(await immatureCells()).toEqual([]);
});

test.each([
  ['a list', { immature_cohorts: ['2026-05-01'] }],
  ['a metric that was not requested', { immature_cohorts: { clicks: ['2026-05-01'] } }],
  ['an instant that is none', { debug: { cached_at: 'yesterday' } }],
])('%s is ignored with one warning', async (_, members) => {
  await load(members);
  expect(await immatureCells()).toEqual([]);
  expect(await warnings()).toEqual(['EVIDENCE_UNREAD']);
});
