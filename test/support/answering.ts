/**
 * A service whose rows a test lists, and of whose answers a test rewrites one of several: aimed by batch, part, page, day and
 * by how often it was requested. It groups, filters, pages and totals as the service does, so that a window may be requested
 * in batches of metrics, in parts of values and in pages at once.
 */

import type { RunOptions } from '../../src/run/run.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { isDateDimension } from '../../src/model/dimension.ts';
import type { Slice } from '../../src/model/slice.ts';
import { isStar } from '../../src/model/stars.ts';
import type { Config } from '../../src/config/config.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { query } from './contents.ts';
import { runNight } from './night.ts';
import { openScenario, type Scenario } from './scenario.ts';
import { json, type Received, type Reply, type Script } from './scripted-server.ts';
import { startScriptedServer } from './scripted-server.ts';

/** Its day, its other dimensions and its metrics as the wire has them; null is NULL. */
export type TrueRow = Readonly<Record<string, string | null>> & { readonly day: string };

/** A report as it would be sent. */
export interface Report {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly totals: Readonly<Record<string, unknown>>;
  readonly pagination: unknown;
}

/** What a request is for. */
export interface Asking {
  readonly query: URLSearchParams;
  readonly dimensions: readonly string[];
  readonly metrics: readonly string[];
  /** The rows of a part, those of a window that is not divided, or what is stated of a window without its dimensions. */
  readonly part: 'in' | 'not in' | 'undivided' | 'whole';
  readonly page: number;
  readonly firstDay: string;
  readonly lastDay: string;
  /** 1 for the first report request of the world. */
  readonly ordinal: number;
}

/** Which requests are answered otherwise; what is left out matches all. */
export interface Aim {
  /** Only batches that request it; name another one than the slice's first, which every batch may carry. */
  readonly metric?: string;
  readonly part?: Asking['part'];
  readonly page?: number;
  /** Only days that include it. */
  readonly day?: string;
  readonly matches?: (asking: Asking) => boolean;
  /** Lets so many requests pass first. */
  readonly after?: number;
}

export type Change = (report: Report, asking: Asking) => Reply;

interface Rule {
  readonly aim: Aim;
  readonly change: Change;
  passing: number;
  left: number;
}

export interface Pages {
  readonly size: number;
  /** On which pages the totals of the whole answer stand, or those of its rows on every page. */
  readonly totals: 'first' | 'last' | 'every' | 'of the page';
  /** Replaces `{"next": …}`, in which the last page has null. */
  readonly form?: (page: number, next: string | null, rows: number) => unknown;
}

interface Behaviour {
  /** The rows of the service; a function may let them move from one request to the next. */
  rows: readonly TrueRow[] | ((asking: Asking) => readonly TrueRow[]);
  /** The apps that reports have, and the catalog lists unless it lists others; null: all. */
  apps: readonly string[] | null;
  listed: readonly string[] | null;
  /** The name of an app in the catalog. */
  appName: (token: string) => string;
  /** The status of a report whose filter names an app that is not listed; null: such an app only has no rows. */
  refusal: 400 | 403 | null;
  pages: Pages | null;
  /** Answers 504 to a report of more rows. */
  maxRows: number;
  /** Cuts a report after so many rows in silence; its totals are those of all. */
  cap: number;
  /** How often a row comes; the totals count it as often, or once. */
  copies: (row: TrueRow) => number;
  copiesCount: 'once' | 'as often';
  /** Cells that `cohort_maturity: mature` withholds, and what stands in the totals where all are. */
  withheld: ((metric: string, day: string) => boolean) | null;
  withheldTotal: 0 | null;
  /** How the answers to reports are written on the wire. */
  wire: (reply: Reply) => ReturnType<Script>;
}

export interface AnsweringWorld extends Behaviour {
  readonly scenario: Scenario;
  /** The report requests since they were last forgotten. */
  asked: Asking[];
  /** Answers what is aimed at otherwise, so many times; returns what ends that. */
  rewrite(aim: Aim, change: Change, times?: number): () => void;
  /** Syncs on a night of June 2026, at 02:30. */
  night(
    number: number,
    change?: {
      readonly slices?: readonly Slice[];
      readonly request?: Partial<RunOptions>;
      readonly config?: Partial<Config>;
      readonly requestTimeoutMs?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<SyncSummary>;
  /** Opens the warehouse once for many questions. */
  reading(check: () => Promise<void>): Promise<void>;
  /** The stored cells that are not NULL: key, metric and number, sorted. */
  cells(slice: Slice, where?: string): Promise<string[]>;
  /** The same as the rows of the world have them, or rows that the test states. */
  truth(slice: Slice, rows?: readonly TrueRow[]): string[];
  /** The same as one answer to one request for these days would have them, both included. */
  answerTo(slice: Slice, firstDay: string, lastDay: string): string[];
  /** Warnings as `CODE message`. */
  warnings(): string[];
}

export const nightAt = (number: number): Date => new Date(Date.UTC(2026, 5, number, 2, 30));

/** Metrics whose totals are no sums. */
const isRatio = (metric: string): boolean => /^(?:ecpi|roas|ctr)/.test(metric);
const isCohort = (metric: string): boolean => /_[dwm]\d+$/.test(metric);

export async function openAnswering(
  slices: readonly Slice[],
  rows: Behaviour['rows'],
  behaviour: Partial<Omit<Behaviour, 'rows'>> = {},
): Promise<AnsweringWorld> {
  const rules = new Set<Rule>();
  let ordinal = 0;
  const server = await startScriptedServer(({ path, query: parameters }) => {
    if (!path.endsWith('/report')) return catalogReply(parameters, world);
    ordinal += 1;
    const asking = askingOf(parameters, ordinal);
    world.asked.push(asking);
    return world.wire(rewritten(asking));
  });
  const rewritten = (asking: Asking): Reply => {
    const usual = replyTo(asking, world);
    for (const rule of rules) {
      if (rule.left <= 0 || !isAimedAt(rule.aim, asking) || typeof usual === 'number') continue;
      rule.passing -= 1;
      if (rule.passing >= 0) continue;
      rule.left -= 1;
      return rule.change(usual ?? { rows: [], totals: {}, pagination: null }, asking);
    }
    if (typeof usual === 'number')
      return json({ error_desc: 'an app_token is not available' }, { status: usual });
    return usual === null ? { status: 204 } : json(usual);
  };
  const opened = await openScenario(slices);
  let reading: Warehouse | null = null;
  const scenario: Scenario = {
    ...opened,
    inWarehouse: (use) => (reading === null ? opened.inWarehouse(use) : use(reading)),
    close: () => opened.close().then(() => server.close()),
  };
  const service = { baseUrl: server.origin, reportsUrl: server.origin };
  const world: AnsweringWorld = {
    rows,
    apps: null,
    listed: null,
    appName: (token) => `App ${token}`,
    refusal: null,
    pages: null,
    maxRows: Infinity,
    cap: Infinity,
    copies: () => 1,
    copiesCount: 'as often',
    withheld: null,
    withheldTotal: null,
    wire: (reply) => reply,
    ...behaviour,
    scenario,
    asked: [],
    rewrite(aim, change, times = Infinity) {
      const rule = { aim, change, passing: aim.after ?? 0, left: times };
      rules.add(rule);
      return () => void rules.delete(rule);
    },
    night(
      number,
      { slices: some, request = {}, config = {}, requestTimeoutMs = 30_000, signal } = {},
    ) {
      return runNight({ ...scenario, config: { ...scenario.config, ...config } }, nightAt(number), {
        service: { ...service, requestTimeoutMs },
        request,
        ...(some === undefined ? {} : { slices: some }),
        ...(signal === undefined ? {} : { signal }),
      });
    },
    reading: (check) =>
      opened.inWarehouse(async (warehouse) => {
        reading = warehouse;
        await check().finally(() => (reading = null));
      }),
    async cells(slice, where = 'true') {
      const stored = await query(scenario, `select * from ${slice.name} where ${where}`);
      return stored
        .flatMap((row) => {
          const key = keyOf(row, slice);
          return slice.cube === undefined
            ? slice.metrics.map((metric) => cellOf(key, metric, row[metric] ?? null))
            : [cellOf(key, String(row['metric']), row['value'])];
        })
        .filter((cell) => cell !== null)
        .sort();
    },
    truth(slice, some) {
      const list = some ?? (typeof world.rows === 'function' ? [] : world.rows);
      return list
        .flatMap((row) =>
          slice.metrics.map((metric) => cellOf(keyOf(row, slice), metric, row[metric] ?? null)),
        )
        .filter((cell) => cell !== null)
        .sort();
    },
    answerTo(slice, firstDay, lastDay) {
      const parameters = new URLSearchParams({
        ...slice.parameters,
        dimensions: slice.dimensions.join(','),
        metrics: slice.metrics.join(','),
        date_period: `${firstDay}:${lastDay}`,
      });
      const asking = askingOf(parameters, 0);
      const cells = groupsOf(asking, world).flatMap((group) => {
        const row = rowOf(group, asking, world);
        return slice.metrics.map((metric) => cellOf(keyOf(row, slice), metric, row[metric]));
      });
      return cells.filter((cell) => cell !== null).sort();
    },
    warnings: () =>
      scenario.events.flatMap((event) =>
        event.type === 'warning' ? [`${event.code} ${event.message}`] : [],
      ),
  };
  return world;
}

const keyOf = (row: Readonly<Record<string, unknown>>, { dimensions }: Slice): string =>
  dimensions.map((name) => String(row[name])).join(' ');

const cellOf = (key: string, metric: string, value: unknown): string | null =>
  value === null ? null : `${key} ${metric} ${Number(value)}`;

/** A slice whose names of metrics have so many bytes of an address, as if `service.max_url_bytes` left no more. */
export function inBatches(slice: Slice, bytes: number): Slice {
  const others = Object.entries({ ...slice.parameters, dimensions: slice.dimensions.join(',') });
  const taken = others.reduce(
    (sum, each) => sum + encodeURIComponent(each.join('=')).length + 1,
    300,
  );
  return { ...slice, maxUrlBytes: taken + bytes };
}

/** The n-th of some slices that are loaded beside each other, each known by a parameter of its own. */
export const copyOf = (slice: Slice, at: number): Slice => ({
  ...slice,
  name: `${slice.name}_${at}`,
  parameters: { ...slice.parameters, copy: String(at).padStart(2, '0') },
  ...(slice.maxUrlBytes === undefined ? {} : { maxUrlBytes: slice.maxUrlBytes + 10 }),
});

/** The same aim, at requests of one of these slices alone. */
export const atCopy = (at: number, aim: Aim = {}): Aim => ({
  ...aim,
  matches: (asking) =>
    Number(asking.query.get('copy') ?? -1) === at && (aim.matches?.(asking) ?? true),
});

/** The lists of metrics of the rows' requests: more than one where a window comes in batches. */
export const batchesAsked = ({ asked }: AnsweringWorld): string[] => [
  ...new Set(asked.filter(({ part }) => part !== 'whole').map(({ metrics }) => metrics.join())),
];

/** How often requests that an aim describes were made. */
export const countAsked = ({ asked }: AnsweringWorld, aim: Aim): number =>
  asked.filter((asking) => isAimedAt(aim, asking)).length;

/**
 * Rows of every combination of days and values, with metrics whose numbers differ from row to row and from `revision` to
 * revision: no two sums of up to 20 rows are equal, and no cell is zero.
 */
export function gridOf(
  days: readonly string[],
  dimensions: Readonly<Record<string, readonly string[]>>,
  metrics: readonly string[],
  revision = 1,
): TrueRow[] {
  let keys: TrueRow[] = days.map((day) => ({ day }));
  for (const [name, values] of Object.entries(dimensions))
    keys = keys.flatMap((key) => values.map((value) => withCells(key, { [name]: value })));
  return keys.map((key, row) => {
    const cells = metrics.map((metric, at): [string, string] => {
      const number = 100 * revision + 2 ** (row % 20) + 7 * at;
      return [metric, /cost|revenue|ecpi|roas/.test(metric) ? `${number}.25` : `${number}`];
    });
    return withCells(key, Object.fromEntries(cells));
  });
}

/** Returns a row with some cells replaced or added. */
export const withCells = (
  row: TrueRow,
  cells: Readonly<Record<string, string | null>>,
): TrueRow => ({
  ...row,
  ...cells,
});

const isAimedAt = (aim: Aim, asking: Asking): boolean =>
  (aim.matches?.(asking) ?? true) &&
  (aim.metric === undefined || asking.metrics.includes(aim.metric)) &&
  (aim.part === undefined || aim.part === asking.part) &&
  (aim.page === undefined || aim.page === asking.page) &&
  (aim.day === undefined || (asking.firstDay <= aim.day && aim.day <= asking.lastDay));

function askingOf(parameters: URLSearchParams, ordinal: number): Asking {
  const listOf = (name: string): string[] => (parameters.get(name) ?? '').split(',');
  const [firstDay = '', lastDay = ''] = (parameters.get('date_period') ?? '').split(':');
  const dimensions = listOf('dimensions');
  const names = [...parameters.keys()];
  const isWhole = dimensions.includes('year') || dimensions.every((name) => isDateDimension(name));
  return {
    query: parameters,
    dimensions,
    metrics: listOf('metrics'),
    part: isWhole
      ? 'whole'
      : names.some((name) => name.endsWith('__not_in'))
        ? 'not in'
        : names.some((name) => name.endsWith('__in'))
          ? 'in'
          : 'undivided',
    page: Number(parameters.get('page') ?? parameters.get('cursor') ?? 1),
    firstDay,
    lastDay,
    ordinal,
  };
}

/** The report, null for one without rows, or the status that refuses it. */
function replyTo(asking: Asking, world: AnsweringWorld): Report | number | null {
  const { query: parameters, metrics } = asking;
  const { apps, refusal, pages, copies, copiesCount, withheld, withheldTotal } = world;
  const named = (parameters.get('app_token__in') ?? '').split(',').filter((name) => name !== '');
  if (refusal !== null && apps !== null && named.some((name) => !apps.includes(name)))
    return refusal;
  const isMature = parameters.get('cohort_maturity') === 'mature';
  const groups = groupsOf(asking, world);
  const rows = groups.flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const row = { attr_dependency: {}, ...rowOf(group, asking, world) };
    return Array.from({ length: group.length === 1 ? copies(first) : 1 }, () => row);
  });
  if (rows.length === 0) return null;
  if (rows.length > world.maxRows) return 504;
  const totals = Object.fromEntries(
    metrics.map((metric) => {
      const shown = groups.filter(
        (group) => !isMature || !group.some((row) => withheld?.(metric, row.day) === true),
      );
      const counted = copiesCount === 'once' ? once : copies;
      return [metric, shown.length === 0 ? withheldTotal : sumOf(shown.flat(), metric, counted)];
    }),
  );
  const report = { rows: rows.slice(0, world.cap), totals, pagination: null };
  return pages === null ? report : pageOf(report, asking, pages);
}

/** The row of all that have the requested dimensions in common. */
function rowOf(
  group: readonly TrueRow[],
  { query: parameters, dimensions, metrics }: Asking,
  { copies, copiesCount, withheld }: AnsweringWorld,
): Record<string, string | null> {
  const [first] = group;
  const isMature = parameters.get('cohort_maturity') === 'mature';
  const valueOf = (metric: string): string | null => {
    const isHidden = isMature && group.some((row) => withheld?.(metric, row.day) === true);
    if (isHidden || group.every((row) => (row[metric] ?? null) === null)) return null;
    if (group.length === 1) return first?.[metric] ?? null;
    return String(sumOf(group, metric, copiesCount === 'once' ? once : copies));
  };
  const row: Record<string, string | null> = {};
  for (const name of dimensions) row[name] = first === undefined ? null : labelOf(first, name);
  for (const metric of metrics) row[metric] = valueOf(metric);
  return row;
}

function groupsOf(asking: Asking, { rows, apps }: AnsweringWorld): TrueRow[][] {
  const { dimensions, firstDay, lastDay } = asking;
  const groups = new Map<string, TrueRow[]>();
  for (const row of typeof rows === 'function' ? rows(asking) : rows) {
    const app = row['app_token'] ?? null;
    if (row.day < firstDay || row.day > lastDay || !isIn(row, asking)) continue;
    if (apps !== null && app !== null && !apps.includes(app)) continue;
    const key = JSON.stringify(dimensions.map((name) => labelOf(row, name)));
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()];
}

const labelOf = (row: TrueRow, name: string): string | null =>
  name === 'year' ? row.day.slice(0, 4) : (row[name] ?? null);

/** Whether a row passes the filters; NULL passes none, as in SQL. */
function isIn(row: TrueRow, { query: parameters }: Asking): boolean {
  return [...parameters].every(([name, text]) => {
    const [, subject = '', test = ''] = /^(.+)__(in|not_in|gte)$/.exec(name) ?? [];
    if (test === '') return true;
    const value = row[subject] ?? null;
    if (value === null) return false;
    if (test === 'gte') return Number(value) >= Number(text);
    return text.split(',').includes(value) === (test === 'in');
  });
}

/** Exact for values of at most six digits after the point; a mean where the metric adds up to nothing. */
function sumOf<Row extends Readonly<Record<string, unknown>>>(
  rows: readonly Row[],
  metric: string,
  times: (row: Row) => number,
): number {
  const millionths = rows.reduce(
    (sum, row) => sum + Math.round(Number(row[metric] ?? 0) * 1e6) * times(row),
    0,
  );
  return Math.round(isRatio(metric) ? millionths / rows.length : millionths) / 1e6;
}

const once = (): number => 1;

function pageOf(report: Report, { page, query: parameters }: Asking, pages: Pages): Report {
  const rows = report.rows.slice((page - 1) * pages.size, page * pages.size);
  const isLast = page * pages.size >= report.rows.length;
  const next = new URLSearchParams([...parameters].filter(([name]) => name !== 'page'));
  next.set('page', String(page + 1));
  const address = isLast ? null : `/reports-service/report?${next.toString()}`;
  const isStated = { first: page === 1, last: isLast, every: true, 'of the page': true };
  const totals = pages.totals === 'of the page' ? totalsOf(report, rows) : { ...report.totals };
  const form = pages.form ?? ((_page: number, named: string | null) => ({ next: named }));
  return {
    rows,
    totals: isStated[pages.totals] ? totals : {},
    pagination: form(page, address, report.rows.length),
  };
}

/** The totals of some of a report's rows. */
export const totalsOf = (report: Report, rows: Report['rows']): Report['totals'] =>
  Object.fromEntries(
    Object.keys(report.totals).map((metric) => [metric, sumOf(rows, metric, once)]),
  );

function catalogReply(parameters: Received['query'], world: AnsweringWorld): Reply {
  const { slices } = world.scenario.config;
  const rows = typeof world.rows === 'function' ? [] : world.rows;
  const dimensions = new Set([
    'day',
    'app_token',
    'network',
    ...slices.flatMap((slice) => slice.dimensions),
  ]);
  const metrics = [
    ...new Set([
      ...slices.flatMap((slice) => slice.metrics.filter((name) => !isStar(name))),
      ...rows.flatMap((row) => Object.keys(row).filter((name) => !dimensions.has(name))),
    ]),
  ];
  const listed = world.listed ??
    world.apps ?? [...new Set(rows.flatMap((row) => row['app_token'] ?? []))];
  const items = {
    apps: listed.map((id) => ({ id, name: world.appName(id) })),
    overview_metrics: metrics.filter((id) => !isCohort(id)).map(metricItem),
    cohort_metrics: metrics.filter(isCohort).map(metricItem),
  };
  const filters = (parameters.get('required_filters') ?? '').split(',');
  return json(Object.fromEntries(filters.map((name) => [name, Reflect.get(items, name) ?? []])));
}

const metricItem = (id: string): object => ({
  id,
  name: id,
  formatting: /cost|revenue|ecpi/.test(id) ? 'money' : 'integer',
});
