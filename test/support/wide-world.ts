/** A service of wide reports: very many metrics or dimensions, few rows a day. Every value can be computed by hand. */

import { addDays, day, type Day, daysBetween } from '../../src/model/calendar.ts';
import { daysIn } from './plain-values.ts';
import {
  json,
  type Received,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts';

/** Ages are whole days. */
const AGES = 120;
const counted = ['sessions', 'retained_users', 'paying_users'];

/** So many metrics of money or counts by age of cohort; all are documented to add up. */
export function wideMetrics(count: number): string[] {
  const names = ['all_revenue_total', ...counted];
  return Array.from(
    { length: count },
    (_, at) => `${names[Math.floor(at / AGES)] ?? 'events'}_d${at % AGES}`,
  );
}

/** So many dimensions beside the day. */
export const wideDimensions = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => (at === 0 ? 'app_token' : `dimension_${at}`));

export interface WideWorld {
  readonly server: ScriptedServer;
  readonly reports: () => number;
  /** From the second night on every value that `isChanged` names is one larger. */
  setNight(night: number): void;
  close(): Promise<void>;
}

/** The first day that any value is computed from. */
const FIRST = day('2026-01-01');

/** Whether the total of a metric on a day differs between the first night and the second. */
export const isChanged = (at: number, of: Day): boolean =>
  (at + daysBetween(FIRST, of)) % CHANGED_EVERY === 0;
const CHANGED_EVERY = 40;

/** In thousandths. */
function valueOf(at: number, row: number, of: Day, night: number): number {
  const base = 1000 * (1 + ((at * 7 + row * 3 + daysBetween(FIRST, of)) % 97));
  return row === 0 && night > 1 && isChanged(at, of) ? base + 1000 : base;
}

/** The total of a metric over the rows of a day, in whole units. */
export function totalOf(at: number, of: Day, night: number, rowsPerDay: number): number {
  const rows = Array.from({ length: rowsPerDay }, (_, row) => valueOf(at, row, of, night));
  return rows.reduce((sum, value) => sum + value, 0) / 1000;
}

export async function startWideWorld(given: {
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
  readonly rowsPerDay: number;
  /** Before it no day has rows. */
  readonly launchDay?: Day;
}): Promise<WideWorld> {
  const { metrics, dimensions, rowsPerDay, launchDay = FIRST } = given;
  const places = new Map(metrics.map((metric, at) => [metric, at]));
  let night = 1;
  let reports = 0;
  const report = (query: URLSearchParams): object => {
    const [first = '', last = ''] = (query.get('date_period') ?? '').split(':');
    const requested = (query.get('metrics') ?? '').split(',');
    const isOfDays = query.get('dimensions') === 'day';
    const totals = new Map(requested.map((metric) => [metric, 0]));
    const rows: Record<string, unknown>[] = [];
    for (const date of daysIn({ start: day(first), end: addDays(day(last), 1) })) {
      if (date < launchDay) continue;
      const ofDay = new Map<string, number>();
      for (let row = 0; row < rowsPerDay; row += 1) {
        const cells: Record<string, unknown> = { attr_dependency: {}, day: date };
        for (const [at, name] of dimensions.entries())
          cells[name] = `value ${at === 0 ? row : (row + at) % 3}`;
        for (const metric of requested) {
          const value = valueOf(places.get(metric) ?? 0, row, date, night);
          cells[metric] = isCount(metric) ? String(value / 1000) : (value / 1000).toFixed(3);
          totals.set(metric, (totals.get(metric) ?? 0) + value);
          ofDay.set(metric, (ofDay.get(metric) ?? 0) + value);
        }
        if (!isOfDays) rows.push(cells);
      }
      if (!isOfDays) continue;
      const sums = [...ofDay].map(([metric, value]) => [metric, value / 1000] as const);
      rows.push({ attr_dependency: {}, day: date, ...Object.fromEntries(sums) });
    }
    const stated = [...totals].map(([metric, total]) => [metric, total / 1000] as const);
    return { rows, totals: Object.fromEntries(stated), warnings: [], pagination: null };
  };
  const catalog = (query: URLSearchParams): object => {
    const lists: Readonly<Record<string, readonly object[]>> = {
      cohort_metrics: metrics.map((id) => item(id, isCount(id) ? 'integer' : 'money')),
      dimensions: ['day', ...dimensions].map((id) => item(id, '')),
    };
    const filters = (query.get('required_filters') ?? '').split(',');
    return Object.fromEntries(filters.map((filter) => [filter, lists[filter] ?? []]));
  };
  const server = await startScriptedServer(({ path, query }: Received) => {
    if (path.endsWith('/filters_data')) return json(catalog(query));
    reports += 1;
    return json(report(query));
  });
  return {
    server,
    reports: () => reports,
    setNight: (number) => {
      night = number;
    },
    close: () => server.close(),
  };
}

const isCount = (metric: string): boolean => counted.some((name) => metric.startsWith(name));
const item = (id: string, formatting: string): object => ({
  id,
  name: id,
  section: '',
  formatting,
});

/** A configuration of slices `wide_0`, `wide_1` … that ask for the same, all of it each night. */
export function wideConfig(given: {
  readonly world: WideWorld;
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
  readonly slices: number;
  readonly period: string;
}): string {
  const { world, metrics, dimensions, slices, period } = given;
  const each = Array.from(
    { length: slices },
    (_, at) => `  - name: wide_${at}
    dimensions: [day, ${dimensions.join(', ')}]
    metrics: [${metrics.join(', ')}]
    date_period: ${period}
`,
  );
  return `service:
  base_url: ${world.server.origin}
  reports_url: ${world.server.origin}
  token: marked-token-5e1f
warehouse: warehouse.duckdb
partners: false
links: false
defaults:
  refresh: nightly
slices:
${each.join('')}`;
}
