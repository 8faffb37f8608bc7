/**
 * A tiny world as a service: in the process, in the shape of the wire's `Service` (bodies are written where they are
 * wanted, no HTTP), or as the answers of a real server.
 *
 * What is answered well is what `tinyReport` says. A mood is how the service feels on one night: the same question is
 * answered alike all night long.
 */

import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { Failure } from '../../src/errors.ts';
import type { Catalog } from '../../src/model/catalog.ts';
import type { Service } from '../../src/service/service.ts';
import { json, startScriptedServer, type Received, type Reply, type ScriptedServer } from './scripted-server.ts';
import {
  dayNumber,
  hashed,
  tinyMetrics,
  TinyRefusal,
  tinyReport,
  tinyTextDimensions,
  tinyValues,
  type Parameters,
  type TinyReport,
  type TinyRow,
  type TinyWorld,
} from './tiny-world.ts';

/** A day in so many, counted from `from`. */
export interface SomeDays {
  readonly every: number;
  readonly from: number;
}

/** How the service feels on one night. All off: `calm`. */
export interface Mood {
  readonly totals: 'exact' | 'rounded' | 'missing' | 'some missing' | 'as text';
  /** Days that look as if they had no traffic, and how a report without rows is answered. */
  readonly empty: (SomeDays & { readonly as: '204' | 'no rows' | 'no totals' }) | null;
  /** Windows that hold such a day fail. Over real HTTP `beside` is rows beside an `error`, else it is 503. */
  readonly failing: (SomeDays & { readonly with: 503 | 400 | 403 | 'beside' }) | null;
  /** Windows that hold such a day are answered after all others. */
  readonly slow: SomeDays | null;
  /** 504 for a report of more rows. */
  readonly maxRows: number | null;
  readonly cap: { readonly rows: number; readonly totals: 'all' | 'cut'; readonly warns: boolean } | null;
  /** Pages of so many rows, over real HTTP. */
  readonly pages: {
    readonly size: number;
    readonly style: 'v1' | 'v2' | 'cursor';
    readonly lastHasNext: boolean;
  } | null;
  /** How many keys nobody asked for are in each row. */
  readonly unasked: number;
  /** Of so many rows one states a text for the first metric that is no number. */
  readonly odd: { readonly every: number; readonly text: string } | null;
  /** Whether money has three more digits than on other nights. */
  readonly precise: boolean;
  readonly catalog: 'usual' | 'a list empty' | 'a list absent' | 'shorter' | 'reformatted' | 'moved';
}

export const calm: Mood = {
  totals: 'exact',
  empty: null,
  failing: null,
  slow: null,
  maxRows: null,
  cap: null,
  pages: null,
  unasked: 0,
  odd: null,
  precise: false,
  catalog: 'usual',
};

/** Longer than the others take to be loaded. */
const SLOW_MS = 400;

export interface TinyAnswer {
  readonly status: number;
  readonly document: Readonly<Record<string, unknown>> | null;
}

/** The night a service stands at. */
export interface TinyNight {
  readonly world: TinyWorld;
  readonly mood: Mood;
  readonly nowMs: number;
}

export const isOneOf = ({ every, from }: SomeDays, day: number): boolean =>
  (((day - from) % every) + every) % every === 0;

/** What a report says on a night when it is answered at all. */
export function saidOn({ world, mood, nowMs }: TinyNight, parameters: Parameters): TinyReport {
  const { empty, odd, precise } = mood;
  const isHidden = (day: number): boolean => empty !== null && isOneOf(empty, day);
  const said = tinyReport(world, parameters, nowMs, { isHidden, isPrecise: precise });
  return odd === null ? said : { ...said, rows: said.rows.map((row) => withOddText(row, odd, parameters)) };
}

/** The same rows of the same question always; of others, others. */
function withOddText(
  row: TinyRow,
  odd: NonNullable<Mood['odd']>,
  { dimensions = '', metrics = '' }: Parameters,
): TinyRow {
  const labels = dimensions.split(',').map((name) => row[name]);
  const [first = ''] = metrics.split(',');
  return hashed(JSON.stringify(labels)) % odd.every === 0 ? { ...row, [first]: odd.text } : row;
}

function holdsOneOf(days: SomeDays, parameters: Parameters): boolean {
  const [first = '', last = ''] = (parameters['date_period'] ?? '').split(':');
  for (let day = dayNumber(first); day <= dayNumber(last); day += 1) if (isOneOf(days, day)) return true;
  return false;
}

/** The answer to a report request. `next` makes an address of a cursor. */
export function tinyAnswer(night: TinyNight, parameters: Parameters, next: (cursor: string) => string): TinyAnswer {
  const { failing, maxRows, empty, unasked } = night.mood;
  const isFailing = failing !== null && holdsOneOf(failing, parameters);
  if (isFailing && failing.with !== 'beside') return { status: failing.with, document: { error: 'not tonight' } };
  let said: TinyReport;
  try {
    said = saidOn(night, parameters);
  } catch (thrown) {
    if (!(thrown instanceof TinyRefusal)) throw thrown;
    return { status: 400, document: { error_code: 'request_error', error_desc: thrown.message } };
  }
  const beside = isFailing ? { error: 'query cancelled' } : {};
  if (said.rows.length > (maxRows ?? Infinity)) return { status: 504, document: null };
  if (said.rows.length === 0) {
    if (empty === null || empty.as === '204') return { status: 204, document: null };
    return {
      status: 200,
      document: empty.as === 'no rows' ? { rows: [], totals: {}, ...beside } : { rows: [], ...beside },
    };
  }
  const keys = Object.fromEntries(Array.from({ length: unasked }, (_, nth) => [nth === 0 ? '' : `more_${nth}`, nth]));
  const rows = unasked === 0 ? said.rows : said.rows.map((row) => ({ ...row, ...keys }));
  const report = { rows, totals: statedTotals(said, night.mood), warnings: [], pagination: null, ...beside };
  return { status: 200, document: paged(capped(report, night.mood), night.mood, parameters, next) };
}

type Stated = Readonly<Record<string, unknown>> & {
  readonly rows: TinyReport['rows'];
  readonly totals: Readonly<Record<string, number | string>>;
};

function statedTotals({ totals }: TinyReport, { totals: how }: Mood): Stated['totals'] {
  if (how === 'exact') return totals;
  if (how === 'missing') return {};
  const entries = Object.entries(totals);
  if (how === 'some missing') return Object.fromEntries(entries.filter((_, nth) => nth % 2 === 1));
  return Object.fromEntries(
    entries.map(([id, total]) => [id, how === 'rounded' ? Math.round(total * 100) / 100 : String(total)]),
  );
}

function capped(report: Stated, { cap }: Mood): Stated {
  if (cap === null || report.rows.length <= cap.rows) return report;
  const rows = report.rows.slice(0, cap.rows);
  const warnings = cap.warns ? [`The report was limited to ${cap.rows} rows.`] : [];
  if (cap.totals === 'all') return { ...report, rows, warnings };
  const sums = Object.keys(report.totals).map((id): [string, number] => {
    const isSum = tinyMetrics.some((metric) => metric.id === id && metric.kind !== 'quotient');
    const millionths = rows.reduce((sum, row) => sum + Math.round(Number(row[id] ?? 0) * 1_000_000), 0);
    return [id, isSum ? millionths / 1_000_000 : Number(report.totals[id])];
  });
  return { ...report, rows, totals: Object.fromEntries(sums), warnings };
}

function paged(report: Stated, { pages }: Mood, parameters: Parameters, next: (cursor: string) => string): Stated {
  if (pages === null) return report;
  const { size, style, lastHasNext } = pages;
  const from = Number(parameters['after'] ?? '0');
  const rows = report.rows.slice(from, from + size);
  const isLast = from + size >= report.rows.length;
  const cursor = isLast ? null : String(from + size);
  const address = cursor === null ? null : next(cursor);
  const links = isLast && !lastHasNext ? {} : { next: style === 'cursor' ? cursor : address };
  if (style === 'cursor') return { ...report, rows, pagination: links };
  if (style === 'v2') return { ...report, rows, pagination: { cursor, ...links } };
  const counts = { page_size: String(size), collection_size: String(rows.length), total: String(report.rows.length) };
  const pagination = { ...counts, previous: null, cursors: { after: cursor, before: null }, ...links };
  return { ...report, rows, pagination };
}

const lists = ['overview_metrics', 'cohort_metrics', 'skad_metrics', 'cost_metrics', 'event_metrics', 'etl_metrics'];

/** The items of each list on a night; null for a list that is not answered. */
export function tinyCatalog({ mood }: Pick<TinyNight, 'mood'>): ReadonlyMap<string, Catalog | null> {
  const item = (filter: string, id: string, section: string, formatting: string): Catalog[number] => ({
    filter,
    id,
    name: id,
    shortName: '',
    section,
    formatting,
    description: '',
  });
  const byList = new Map<string, Catalog | null>(
    lists.map((list) => [
      list,
      tinyMetrics
        .filter((metric) => metric.list === list)
        .map(({ id, section, formatting }) => item(list, id, section, formatting)),
    ]),
  );
  byList.set(
    'dimensions',
    tinyTextDimensions.map((id) => item('dimensions', id, '', 'string')),
  );
  for (const [list, ids] of Object.entries(tinyValues)) {
    byList.set(
      list,
      ids.map((id) => item(list, id, '', 'string')),
    );
  }
  const overview = byList.get('overview_metrics') ?? [];
  const cohort = byList.get('cohort_metrics') ?? [];
  if (mood.catalog === 'a list empty') byList.set('overview_metrics', []);
  if (mood.catalog === 'a list absent') byList.set('cohort_metrics', null);
  if (mood.catalog === 'shorter') byList.set('overview_metrics', overview.slice(0, 1));
  if (mood.catalog === 'moved') {
    byList.set('cohort_metrics', []);
    byList.set('event_metrics', changed(cohort, { filter: 'event_metrics', section: 'Events' }));
  }
  if (mood.catalog === 'reformatted') {
    byList.set('overview_metrics', changed(overview, { formatting: 'decimal', section: '' }));
  }
  return byList;
}

function changed(items: Catalog, change: Partial<Catalog[number]>): Catalog {
  return items.map((item) => Object.assign({}, item, change));
}

/** A service in the process, and how often a report or a catalog was asked of it. */
export interface TinyService extends Service {
  readonly asked: readonly Parameters[];
  readonly catalogs: number;
}

/** The service of a night, in the process. Throws what the wire throws for an answer that is none. */
export function tinyService(night: TinyNight): TinyService {
  const asked: Parameters[] = [];
  let catalogs = 0;
  const notServed = (): never => {
    throw new Error('A tiny service has reports and a catalog only.');
  };
  return {
    asked,
    get catalogs() {
      return catalogs;
    },
    async report(parameters, saveAs, signal) {
      signal.throwIfAborted();
      asked.push(parameters);
      if (night.mood.slow !== null && holdsOneOf(night.mood.slow, parameters)) await sleep(SLOW_MS);
      const { status, document } = tinyAnswer(night, parameters, (cursor) => cursor);
      if (status === 204) return null;
      if (status !== 200) throw failureOf(status);
      const body = Buffer.from(JSON.stringify(document));
      await writeFile(saveAs, body);
      const { length } = body;
      return { path: saveAs, encoding: 'identity', bytes: length, plainBytes: length };
    },
    filtersData: async ({ filters }): Promise<Catalog> => {
      catalogs += 1;
      const byList = tinyCatalog(night);
      return filters.flatMap((filter) => byList.get(filter) ?? []);
    },
    partners: notServed,
    links: notServed,
    createLink: notServed,
    updateLink: notServed,
    submitSpend: notServed,
    statistics: () => ({ requests: asked.length + catalogs, retries: 0, peakConcurrency: 1, bytes: 0 }),
    clockSkewMs: () => null,
    close: async () => {},
  };
}

const codes = {
  400: 'SOURCE_REFUSED',
  403: 'ACCESS_FORBIDDEN',
  503: 'SOURCE_UNAVAILABLE',
  504: 'SOURCE_TOO_HEAVY',
} as const;

function failureOf(status: number): Failure {
  const known = status === 400 || status === 403 || status === 504 ? status : 503;
  return new Failure(codes[known], `The tiny service answered ${status}.`, { hint: 'Ask on another night.' });
}

/** The service of whichever night `night` says, over real HTTP. */
export function startTinyServer(night: (request: Received) => TinyNight): Promise<ScriptedServer> {
  return startScriptedServer((request) => replyTo(request, night(request)));
}

function replyTo({ path, query, headers, target }: Received, night: TinyNight): Reply {
  const parameters = Object.fromEntries(query);
  if (path.endsWith('/filters_data')) {
    const byList = tinyCatalog(night);
    const wanted = (parameters['required_filters'] ?? '').split(',');
    const answered = wanted.filter((list) => byList.get(list) !== null);
    return json(Object.fromEntries(answered.map((list) => [list, (byList.get(list) ?? []).map(wireItem)])));
  }
  const next = (cursor: string): string => {
    const address = new URL(target, `http://${headers.host ?? ''}`);
    address.searchParams.set('after', cursor);
    return address.href;
  };
  const { status, document } = tinyAnswer(night, parameters, next);
  return document === null ? { status } : json(document, { status });
}

function wireItem({ id, name, shortName, section, formatting, description }: Catalog[number]): Parameters {
  return { id, name, short_name: shortName, section, formatting, description };
}
