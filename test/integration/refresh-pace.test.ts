/** How many report calls are in flight: as many as allowed, never one more. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { storedAndTrue } from '../support/contents.ts';
import { runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const world = { apps: 1, partners: 1, links: 4, rowsPerDay: 4 };

/** Windows of a day each, and of more once the first have come. */
const hourly = (name: string, first: string, parameters: Record<string, string> = {}): Slice =>
  slice({
    name,
    dimensions: ['hour'],
    metrics: ['installs'],
    datePeriod: { first: { day: day(first) }, last: { day: day('2026-05-31') } },
    parameters,
  });

test('3 slices at once share the 7 calls, and each ends up equal to the truth', async () => {
  const slices = ['one', 'two', 'three'].map((name) => hourly(name, '2026-03-02', { os_name__not_in: name }));
  scenario = await openScenario(slices, { simulator: { world, answerDelayMs: 50 } });
  await runNight(scenario, NOW, { service: { maxConcurrency: 7 } });
  expect(scenario.simulator.asked.peak).toBe(7);
  for (const each of slices) {
    const { stored, truth } = await storedAndTrue(scenario, each, '2026-03-02:2026-05-31', NOW);
    expect(stored).toEqual(truth);
  }
});
