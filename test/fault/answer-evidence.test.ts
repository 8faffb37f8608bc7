/** What an answer says against its own finality: cells it calls immature, when it was computed, back-ends that failed. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { archived } from '../support/archive-scene.ts';
import { column } from '../support/contents.ts';
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
