/** Answers that are loaded although something is wrong with them: unproven under `completeness: warn`, with rejected rows. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { reports, runNight } from '../support/night.ts';
import { combined, replacedValue } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-20T02:30:00Z');
const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 12 } as const;

const given = {
  name: 'daily',
  dimensions: ['day', 'os_name', 'app_token'],
  metrics: ['installs', 'clicks', 'cost'],
  datePeriod: { first: { day: day('2026-05-10') }, last: { day: day('2026-05-13') } },
} as const;

const bad = combined(replacedValue(0, 'clicks', '1,234.5'), replacedValue(1, 'clicks', 'NaN'));
const rejected = (): Promise<string[]> => column(scenario, 'select reason from ripen.rejected_rows order by reason');

test('a disk that is full once the 2 rejected rows were recorded, before their load was, keeps neither rows nor records', async () => {
  const tolerant = slice({ ...given, maxRejects: 2 });
  scenario = await openScenario([tolerant], { simulator: { world } });
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: bad } });
  let isRecorded = false;
  const steps = await countSteps((step) => {
    const isFull = isRecorded && steps.kinds[step - 1] !== 'rollback';
    if (steps.kinds[step - 1] === 'insert into ripen.rejected_rows') isRecorded = true;
    return isFull;
  });
  try {
    await runNight(scenario, FIRST).catch(() => null);
  } finally {
    steps.stop();
  }
  expect(isRecorded).toBe(true);
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
  expect(await rejected()).toEqual([]);
  expect((await runNight(scenario, FIRST)).failures).toEqual([]);
  expect((await rejected()).length).toBe(2);
});
