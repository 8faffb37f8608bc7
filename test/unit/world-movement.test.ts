import { expect, test } from 'vitest';
import { metrics } from '../../src/simulator/world/metrics.ts';
import { createWorld } from '../support/simulator/world.ts';
import type { Report } from '../support/simulator/world.ts';

const MS_PER_DAY = 86_400_000;
const MS_PER_HOUR = 3_600_000;
const LATER_DAYS = 400;
/** Cohort periods that are tried; between them nothing is special. */
const periods = new Set([
  'd0',
  'd1',
  'd6',
  'd7',
  'd13',
  'd14',
  'd30',
  'd60',
  'd120',
  'w0',
  'w1',
  'w52',
  'm0',
  'm1',
  'm36',
]);
const spendBased = /^(cost|adjust_cost|(install|click|impression|event)_cost|network_.*|ecp.*|roas_.*)$/;
const lifetime = new Set(['cohort_size', 'cohort_revenue', 'cohort_ad_revenue', 'roas']);

/** Days after the end of a day after which the day's value of a metric must not change. */
function horizonDays(id: string): number {
  if (/^(skad_|conversion_value)/.test(id)) return 42;
  const [, unit, age] = /_([dwm])(\d+)(?:_(?:events|conversions)_cohort)?$/.exec(id) ?? [];
  const floor = spendBased.test(id) ? 14 : 7;
  if (unit === undefined) return floor;
  const next = Number(age) + 1;
  const own = { d: next, w: 7 * next + 1, m: 30 * next + 1 }[unit] ?? next;
  return Math.max(floor, own);
}

const tried = [...metrics.keys()].filter((id) => {
  const [, period] = /_([dwm]\d+)(?:_(?:events|conversions)_cohort)?$/.exec(id) ?? [];
  return !lifetime.has(id) && (period === undefined || periods.has(period));
});

const world = createWorld({ rowsPerDay: 60 });

function ask(
  ids: readonly string[],
  day: string,
  offset: string,
  at: number,
  dimensions = 'day,network,os_name',
): Report | null {
  const query = new URLSearchParams({
    dimensions,
    metrics: ids.join(','),
    date_period: `${day}:${day}`,
    utc_offset: offset,
    attribution_type: 'all',
    ad_spend_mode: 'mixed',
    format_dates: 'false',
  });
  return world.report(query, new Date(at));
}

function endOf(day: string, offset: string): number {
  return Date.parse(`${day}T00:00:00${offset}`) + MS_PER_DAY;
}

test.each(['+00:00', '+05:30', '-09:30', '+14:00'])(
  'in %s no value changes after its horizon, 400 days on: counts 7 d, spend 14 d, postbacks 42 d, cohorts by age',
  (offset) => {
    const day = '2026-01-10';
    const end = endOf(day, offset);
    for (const horizon of new Set(tried.map((id) => horizonDays(id)))) {
      const ids = tried.filter((id) => horizonDays(id) === horizon);
      const settled = ask(ids, day, offset, end + horizon * MS_PER_DAY);
      const later = ask(ids, day, offset, end + (horizon + LATER_DAYS) * MS_PER_DAY);
      expect(settled?.rows.length).toBeGreaterThan(5);
      expect(later?.rows).toEqual(settled?.rows);
      expect(later?.totals).toEqual(settled?.totals);
    }
  },
);

/** Values of one metric over ten days, each at the same time before or after the end of its day. */
function totalsAt(metric: string, hoursAfterEnd: number): number[] {
  return Array.from({ length: 10 }, (_, index) => {
    const day = `2026-01-${String(index + 10)}`;
    const at = endOf(day, '+00:00') + hoursAfterEnd * MS_PER_HOUR;
    return ask([metric], day, '+00:00', at, 'day')?.totals[metric] ?? 0;
  });
}

const HOURS = 24;

test.each([
  ['installs', 7],
  ['revenue', 7],
  ['cost', 14],
  ['network_cost', 14],
  ['network_installs', 14],
  ['skad_installs', 42],
  ['revenue_total_d0', 7],
  ['revenue_total_d13', 14],
  ['retained_users_d30', 31],
  ['revenue_total_w4', 35],
  ['revenue_total_m1', 60],
])('%s still moves on the last of its %i days', (metric, horizon) => {
  const before = totalsAt(metric, (horizon - 1) * HOURS + 1);
  const after = totalsAt(metric, horizon * HOURS);
  expect(before).not.toEqual(after);
});

test.each(['installs', 'cost', 'network_clicks'])('%s moves both up and down between two nights', (metric) => {
  const first = totalsAt(metric, 2 * HOURS);
  const second = totalsAt(metric, 3 * HOURS);
  const signs = new Set(first.map((value, index) => Math.sign((second[index] ?? 0) - value)));
  expect(signs).toContain(1);
  expect(signs).toContain(-1);
});

test('spend moves only at 09:00 UTC', () => {
  const cost = (hour: number): number => totalsAt('cost', 3 * HOURS + hour)[0] ?? 0;
  const hourly = Array.from({ length: 24 }, (_, hour) => cost(hour));
  const moves = hourly.flatMap((value, hour) => (hour > 0 && value !== hourly[hour - 1] ? [hour] : []));
  expect(moves).toEqual([9]);
});

test('postbacks arrive in three waves: within 2 to 5, 10 to 16 and 36 to 42 days of the day', () => {
  const arrived = (days: number): number => totalsAt('skad_installs', days * HOURS).reduce((a, b) => a + b, 0);
  expect(arrived(0)).toBe(0);
  expect(arrived(5)).toBeGreaterThan(0);
  expect(arrived(9)).toBe(arrived(5));
  expect(arrived(16)).toBeGreaterThan(arrived(9));
  expect(arrived(35)).toBe(arrived(16));
  expect(arrived(42)).toBeGreaterThan(arrived(35));
});

test('a cohort value grows from 0 at the start of its age', () => {
  const retained = [7, 8, 12, 24, 31].map((days) => totalsAt('retained_users_d7', (days - 1) * HOURS)[0] ?? 0);
  expect(totalsAt('retained_users_d7', 6 * HOURS)[0]).toBe(0);
  expect(totalsAt('retained_users_d7', 7 * HOURS - 12)[0]).toBeGreaterThan(0);
  expect(retained[1]).toBeGreaterThan(retained[0] ?? 0);
  expect(retained[4]).toBe(retained[2]);
});

test.each(['cohort_revenue', 'roas', 'cohort_size'])('%s still grows at 400 days', (metric) => {
  const early = totalsAt(metric, 300 * HOURS);
  const late = totalsAt(metric, 400 * HOURS);
  for (const [index, value] of early.entries()) expect(late[index]).toBeGreaterThan(value);
});

test('some rows appear 1 to 5 days late, some vanish by the 6th day, and none after', () => {
  const rowsAt = (days: number): Set<string> => {
    const keys = Array.from({ length: 10 }, (_, index) => {
      const day = `2026-01-${String(index + 10)}`;
      const report = ask(
        ['installs'],
        day,
        '+00:00',
        endOf(day, '+00:00') + days * MS_PER_DAY,
        'day,app_token,network,country,os_name',
      );
      return (report?.rows ?? []).map((row) =>
        JSON.stringify([row['day'], row['app_token'], row['network'], row['country'], row['os_name']]),
      );
    });
    return new Set(keys.flat());
  };
  const [fresh, settled, old] = [rowsAt(0), rowsAt(6), rowsAt(400)];
  expect([...settled].some((key) => !fresh.has(key))).toBe(true);
  expect([...fresh].some((key) => !settled.has(key))).toBe(true);
  expect(old).toEqual(settled);
});
