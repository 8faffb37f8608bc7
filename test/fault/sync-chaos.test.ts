/**
 * Everything at once: a service that answers 504 for more than 5 000 rows and 429 at random, cuts 5 % of its bodies, and
 * is restarted twice while it is asked. A failure names the seed; `RIPEN_CHAOS_SEED` gives another.
 */

import { setTimeout as delay } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { day, type Day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { Clock } from '../../src/service/clock.ts';
import type { FaultedRequest } from '../support/simulator/faults.ts';
import type { AskedRequest } from '../support/simulator/request-log.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { WorldOptions } from '../support/simulator/world.ts';
import { column, storedAndTrue } from '../support/contents.ts';
import { reports, runNight } from '../support/night.ts';
import { openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const SEED = Number(process.env['RIPEN_CHAOS_SEED'] ?? 1);

const NOW = new Date('2026-06-01T02:30:00Z');
const MAX_ROWS = 5000;
const TOO_MANY = 0.15;
const CUT = 0.05;
/** Reports it has been asked for when the service goes away, the first and the second time. */
const RESTARTS_AT: ReadonlySet<number> = new Set([20, 45]);
const DOWN_MS = 200;
/** So slow that many calls overlap. */
const ANSWER_DELAY_MS = 25;
/** Ten times what it takes on two quiet cores. */
const TEST_MS = 180_000;
/** How much faster than the real one the clock of the connection is: waits between tries are shorter, their proportions kept. */
const HASTE = 20;

const world: Partial<WorldOptions> = {
  seed: SEED,
  apps: 3,
  partners: 8,
  links: 60,
  rowsPerDay: 600,
};

function report(
  name: string,
  dimensions: readonly string[],
  first: Day,
  parameters: Record<string, string> = {},
): Slice {
  const datePeriod = { first: { day: first }, last: { day: day('2026-05-31') } };
  return slice({
    name,
    dimensions,
    metrics: ['installs', 'clicks', 'cost', 'all_revenue_total_d7'],
    datePeriod,
    parameters,
  });
}

/** Days by the month, too many rows for one answer; hours by the week; hours of one day that are too many by themselves. */
const slices: readonly Slice[] = [
  report('days', ['day', 'app_token', 'network', 'os_name', 'country_code'], day('2026-03-30')),
  report('hours', ['hour', 'os_name'], day('2025-01-06')),
  report(
    'hours_by_network',
    ['hour', 'app_token', 'network', 'os_name', 'country_code'],
    day('2026-05-30'),
  ),
];

/** A clock on which everything lasts a fraction of its time. */
function hastyClock(seed: number): Clock {
  const startedAt = Date.now();
  let state = seed;
  return {
    now: () => startedAt + (Date.now() - startedAt) * HASTE,
    sleep: async (ms, signal) => delay(ms / HASTE, undefined, { signal }),
    random: () => {
      state = (state * 16_807) % 2_147_483_647;
      return state / 2_147_483_647;
    },
  };
}

/** A simulator that can go away and come back at the same address, with other chances each time. */
class Service {
  #simulator: Simulator;
  #lives = 1;
  #reports = 0;
  #restarting = Promise.resolve();
  readonly #gone: AskedRequest[] = [];
  #peak = 0;

  private constructor(simulator: Simulator) {
    this.#simulator = simulator;
    this.#misbehave();
  }

  static async start(): Promise<Service> {
    return new Service(
      await startSimulator({ token: TOKEN, world, now: NOW, answerDelayMs: ANSWER_DELAY_MS }),
    );
  }

  get url(): string {
    return this.#simulator.url;
  }

  get lives(): number {
    return this.#lives;
  }

  /** Most reports in flight at once. */
  get peak(): number {
    return Math.max(this.#peak, this.#simulator.requested.peak);
  }

  get requested(): readonly AskedRequest[] {
    return [...this.#gone, ...this.#simulator.requested.requests];
  }

  async close(): Promise<void> {
    await this.#restarting;
    await this.#simulator.close();
  }

  async #restart(): Promise<void> {
    const { port, requested } = this.#simulator;
    await this.#simulator.close();
    this.#gone.push(...requested.requests);
    this.#peak = Math.max(this.#peak, requested.peak);
    await delay(DOWN_MS);
    this.#simulator = await startSimulator({
      token: TOKEN,
      port,
      world,
      now: NOW,
      answerDelayMs: ANSWER_DELAY_MS,
    });
    this.#lives += 1;
    this.#misbehave();
  }

  #misbehave(): void {
    const isReport = reports();
    const match = (request: FaultedRequest): boolean => {
      if (isReport(request)) this.#count();
      return isReport(request);
    };
    const always = { match: isReport, times: Infinity };
    this.#simulator.script({ ...always, fault: { kind: 'too_heavy', maxRows: MAX_ROWS } });
    const seed = SEED * 100 + this.#lives;
    this.#simulator.script({
      match,
      times: Infinity,
      fault: { kind: 'random', seed, tooMany: TOO_MANY, cut: CUT },
    });
  }

  #count(): void {
    this.#reports += 1;
    if (RESTARTS_AT.has(this.#reports)) this.#restarting = this.#restart();
  }
}

let service: Service;
let scenario: Scenario;

beforeEach(async () => {
  service = await Service.start();
  scenario = await openScenario(slices, { simulator: { world } });
});
afterEach(async () => {
  await service.close();
});

describe(`chaos drawn from seed ${SEED}`, () => {
  test.each([50, 20])(
    'with max_concurrency %i the load completes in one run, every cell equal to the truth, never more in flight than that',
    async (maxConcurrency) => {
      const { url } = service;
      const summary = await runNight(scenario, NOW, {
        service: { baseUrl: url, reportsUrl: url, costUrl: url, maxConcurrency },
        clock: hastyClock(SEED),
      });

      expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
      for (const each of slices) {
        const { stored, truth } = await storedAndTrue(scenario, each, daysOf(each), NOW);
        expect(stored.length).toBeGreaterThan(0);
        expect(stored).toEqual(truth);
      }
      expect(service.peak).toBeLessThanOrEqual(maxConcurrency);
      expect(summary.service.peak_concurrency).toBeLessThanOrEqual(maxConcurrency);

      // That it was as bad as it was meant to be.
      expect(service.lives).toBe(3);
      const statuses = service.requested.map(({ status }) => status);
      expect(statuses).toEqual(expect.arrayContaining([200, 429, 504, null]));
      const answers = Number((await column(scenario, 'select sum(requests) from ripen.loads'))[0]);
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(answers);
    },
    TEST_MS,
  );
});

function daysOf({ datePeriod: { first } }: Slice): string {
  return `${'day' in first ? first.day : ''}:2026-05-31`;
}
