import { array, assert, constantFrom, integer, nat, property, record, subarray, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import { addDays, day } from '../../src/model/calendar.ts';
import { metrics } from '../../src/simulator/world/metrics.ts';
import { createWorld } from '../support/simulator/world.ts';
import type { Report } from '../support/simulator/world.ts';

/** A cell as text, whichever of its forms it has. */
const textOf = (cell: unknown): string => (typeof cell === 'string' ? cell : JSON.stringify(cell ?? ''));

const RUNS = { numRuns: 40 };
const MS_PER_HOUR = 3_600_000;
const MICRO = 1_000_000;
const world = createWorld({ rowsPerDay: 60 });
const ids = ['installs', 'clicks', 'cost', 'network_cost', 'revenue_total_d7', 'cohort_size_d3', 'skad_installs'];
const textDimensions = ['network', 'campaign', 'creative', 'country_code', 'app_token', 'os_name', 'partner_name'];

type Parameters = Record<string, string>;

function ask(parameters: Parameters, ageDays: number): Report | null {
  const [, last = ''] = (parameters['date_period'] ?? '').split(':');
  const now = new Date(Date.parse(`${last}T00:00:00Z`) + ageDays * 24 * MS_PER_HOUR + 11 * MS_PER_HOUR);
  return world.report(new URLSearchParams({ metrics: ids.join(','), format_dates: 'false', ...parameters }), now);
}

/** The sums of a report's rows, exact: counts, and money in micro-units. */
function sums(report: Report | null, of: readonly string[] = ids): Map<string, number> {
  const rows = report?.rows ?? [];
  return new Map(of.map((id) => [id, rows.reduce((sum, row) => sum + Math.round(Number(row[id]) * MICRO), 0)]));
}

function totals(report: Report | null): Map<string, number> {
  return new Map(ids.map((id) => [id, Math.round((report?.totals[id] ?? 0) * MICRO)]));
}

function added(left: Map<string, number>, right: Map<string, number>): Map<string, number> {
  return new Map([...left].map(([id, value]) => [id, value + (right.get(id) ?? 0)]));
}

const firstDays = integer({ min: 0, max: 40 }).map((count) => addDays(day('2026-01-01'), count));
const periods = tuple(firstDays, integer({ min: 0, max: 3 })).map(
  ([first, length]) => `${first}:${addDays(first, length)}`,
);
const offsets = constantFrom('+00:00', '+05:30', '-03:00', '+05:45', '-09:30', '+14:00');
const ages = integer({ min: 0, max: 60 });
const attribution = record({
  attribution_type: constantFrom('all', 'click', 'impression'),
  attribution_source: constantFrom('first', 'dynamic'),
  currency: constantFrom('USD', 'EUR', 'JPY'),
  ad_spend_mode: constantFrom('attribution', 'network', 'mixed'),
});

test('rows add up to the totals, and every grain and text dimension to the same totals', () => {
  assert(
    property(
      periods,
      offsets,
      ages,
      attribution,
      constantFrom('hour', 'day', 'week', 'month', 'hour,month', 'week,month'),
      subarray(textDimensions),
      (date_period, utc_offset, age, rest, grain, texts) => {
        const parameters = { ...rest, date_period, utc_offset };
        const coarse = ask({ ...parameters, dimensions: 'year,currency' }, age);
        const fine = ask({ ...parameters, dimensions: [grain, ...texts].join(',') }, age);
        expect(sums(fine)).toEqual(sums(coarse));
        expect(totals(fine)).toEqual(sums(coarse));
      },
    ),
    RUNS,
  );
});

test('X__in a set and X__not_in the same set make the whole, commas, quotes and empty names included', () => {
  assert(
    property(
      periods,
      ages,
      constantFrom(...textDimensions, 'day', 'hour'),
      array(nat(40), { maxLength: 5 }),
      (date_period, age, dimension, picks) => {
        const parameters = { date_period, dimensions: dimension };
        const whole = ask(parameters, age);
        const texts = (whole?.rows ?? []).map((row) => textOf(row[dimension]));
        const set = picks.map((pick) => texts[pick % texts.length] ?? '').join(',');
        const inside = ask({ ...parameters, [`${dimension}__in`]: set }, age);
        const outside = ask({ ...parameters, [`${dimension}__not_in`]: set }, age);
        expect(added(sums(inside), sums(outside))).toEqual(sums(whole));
      },
    ),
    RUNS,
  );
});

test('each pair of opposite text filters makes the whole', () => {
  const pairs = [
    ['contains', 'exclude'],
    ['starts_with', 'not_starts_with'],
    ['ends_with', 'not_ends_with'],
  ] as const;
  assert(
    property(
      periods,
      constantFrom(...textDimensions),
      constantFrom(...pairs),
      constantFrom('A', 'e', '', 'un', ' ', 'S', "'", '😀'),
      (date_period, dimension, [one, other], part) => {
        const parameters = { date_period, dimensions: 'country' };
        const left = ask({ ...parameters, [`${dimension}__${one}`]: part }, 20);
        const right = ask({ ...parameters, [`${dimension}__${other}`]: part }, 20);
        expect(added(sums(left), sums(right))).toEqual(sums(ask(parameters, 20)));
      },
    ),
    RUNS,
  );
});

test('days add up to the period they make', () => {
  assert(
    property(firstDays, offsets, (first, utc_offset) => {
      const now = new Date('2026-03-01T00:00:00Z');
      const report = (start: string, end: string): Report | null =>
        world.report(
          new URLSearchParams({
            dimensions: 'network',
            metrics: ids.join(','),
            date_period: `${start}:${end}`,
            utc_offset,
          }),
          now,
        );
      const second = addDays(first, 1);
      const parts = added(sums(report(first, first)), sums(report(second, second)));
      expect(parts).toEqual(sums(report(first, second)));
    }),
    RUNS,
  );
});

test('an offset moves hours to other labels and changes none of them', () => {
  const hours = (report: Report | null, offset: string): Map<number, unknown> =>
    new Map(
      (report?.rows ?? []).map((row) => [Date.parse(`${textOf(row['hour'])}${offset}`), Number(row['installs'])]),
    );
  assert(
    property(firstDays, offsets, (first, utc_offset) => {
      const parameters = { dimensions: 'hour', date_period: `${first}:${addDays(first, 3)}` };
      const inUtc = hours(ask({ ...parameters, utc_offset: '+00:00' }, 30), 'Z');
      const there = hours(ask({ ...parameters, utc_offset }, 30), utc_offset);
      const shared = [...there.keys()].filter((at) => inUtc.has(at));
      expect(shared.length).toBeGreaterThan(40);
      for (const at of shared) expect(there.get(at)).toBe(inUtc.get(at));
    }),
    RUNS,
  );
});

test('every additive metric of the table adds up over countries', () => {
  const additive = [...metrics.values()].filter((metric) => metric.additive).map((metric) => metric.id);
  expect(additive.length).toBeGreaterThan(4_000);
  const parameters = { metrics: additive.join(','), date_period: '2026-01-10:2026-01-10' };
  const whole = ask({ ...parameters, dimensions: 'day' }, 50);
  const parts = ask({ ...parameters, dimensions: 'country' }, 50);
  expect(sums(parts, additive)).toEqual(sums(whole, additive));
});
