/** FAULTS 60: a deadline that passes at any step of a night, not only while reports are requested. */

import { beforeEach, expect, test, vi } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, lastRun } from '../support/contents.ts';
import { passingDeadline, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const DEADLINE_MS = 2500;
const NIGHTS = [new Date('2026-06-01T02:30:00Z'), new Date('2026-06-02T02:30:00Z')] as const;

let scenario: Scenario;

beforeEach(async () => {
  vi.restoreAllMocks();
  const daily = slice({
    name: 'daily',
    dimensions: ['day', 'app_token'],
    metrics: ['installs'],
    datePeriod: { first: { day: day('2026-05-25') }, last: { daysAgo: 1 } },
  });
  const opened = await openScenario([daily], { simulator: { world: smallWorld } });
  const links = { apps: 'all', maxLevel: 4, everyMs: 0 } as const;
  scenario = { ...opened, config: { ...opened.config, partners: true, links } };
});

test.each([
  ['the lists of the catalog', '/filters_data'],
  ['partners', '/partners'],
  ['links', '/trackers'],
  ['reports', '/report'],
])(
  'a deadline that passes while %s are requested is DEADLINE_PASSED, and loaded data is kept',
  async (_, path) => {
    await runNight(scenario, NIGHTS[0]);
    const before = `select count(*) from daily where day < '2026-06-01'`;
    const rows = await column(scenario, before);
    const deadline = passingDeadline(DEADLINE_MS);
    scenario.simulator.script({
      match: (request) => {
        const isHere = request.path.endsWith(path);
        if (isHere) setTimeout(() => deadline.abort(new DOMException('', 'TimeoutError')), 20);
        return isHere;
      },
      times: Infinity,
      fault: { kind: 'silence' },
    });
    const summary = await runNight(scenario, NIGHTS[1], { request: { deadlineMs: DEADLINE_MS } });
    expect(summary.failures.map(({ code }) => code)).toEqual(['DEADLINE_PASSED']);
    expect(await lastRun(scenario)).toMatchObject({ exit_code: 75 });
    expect(await column(scenario, before)).toEqual(rows);
  },
);
