/**
 * Quirks: how a world disagrees with what its caller expects. All are off by default; each is a way in which a service
 * of this kind answers, none of them a broken wire (those are faults).
 */

import { isRecord } from '../../../src/model/canonical-json.ts';
import {
  documentAnswer,
  type JsonDocument,
  type SimulatedAnswer,
} from '../../../src/simulator/answer.ts';
import {
  type CursorPage,
  encodeCursor,
  type LinkTo,
  pageOf,
  pageRequestOf,
  pagingV1,
  pagingV2,
  START,
} from '../../../src/simulator/lists.ts';
import type { Day } from '../../../src/model/calendar.ts';
import type { MetricFilterName } from '../../../src/simulator/world/metric.ts';
import { gatewayTimeout } from './faults.ts';
import { rowsOf } from './mutations.ts';

/** A metric the interface document does not know. */
export interface StrangeMetric {
  readonly id: string;
  readonly formatting: string;
  /** Whole numbers or money that add up, or a value whose total is not the sum of its rows. */
  readonly kind: 'count' | 'money' | 'calculated';
  /** The list filters-data has it on; null lists it nowhere. */
  readonly listed: MetricFilterName | null;
}

interface PagesQuirk {
  readonly size: number;
  /**
   * What `pagination` looks like: the campaign API's v1 object with address and cursors, its v2 object with an address,
   * a bare cursor in `next`, or page numbers. The next page is requested by `after`, or by `page`.
   */
  readonly style: 'v1' | 'v2' | 'cursor' | 'number';
  /** How the last page says so: `next` is null, or missing, or leads on to pages without rows for ever. */
  readonly last: 'null' | 'absent' | 'endless';
  /** Totals of the whole report on each page, or of the rows of the page. */
  readonly totals: 'whole' | 'page';
}

export interface Quirks {
  /** Digits after the point that totals are rounded to. */
  readonly rounding: number | null;
  /** At most so many rows an answer, in silence; the totals speak of all rows. */
  readonly cap: number | null;
  readonly pages: PagesQuirk | null;
  /** Days without traffic at an instant; a report without any row is answered `{"rows": [], "totals": {}}`. */
  readonly emptied: ((day: Day, now: Date) => boolean) | null;
  /** Answers 504 to a report of more rows. */
  readonly maxRows: number | null;
  /** By text dimension, the values that are NULL, which passes no filter as in SQL. */
  readonly nulls: ReadonlyMap<string, readonly string[]>;
  readonly metrics: readonly StrangeMetric[];
  /** Metrics whose formatting filters-data states otherwise, at the instants `during` accepts. */
  readonly catalog: readonly {
    readonly during: (now: Date) => boolean;
    readonly id: string;
    readonly formatting: string;
  }[];
}

export const noQuirks: Quirks = {
  rounding: null,
  cap: null,
  pages: null,
  emptied: null,
  maxRows: null,
  nulls: new Map(),
  metrics: [],
  catalog: [],
};

/** Calculated metrics whose names do not say so, one of them in the format of money. */
export const calculatedMetrics: readonly StrangeMetric[] = [
  { id: 'revenue_to_cost', formatting: 'decimal', kind: 'calculated', listed: 'overview_metrics' },
  {
    id: 'worth_of_an_install',
    formatting: 'money',
    kind: 'calculated',
    listed: 'overview_metrics',
  },
];

/** Where a report was requested, and its place among all requests. */
interface Place {
  readonly address: URL;
  readonly ordinal: number;
}
type IsAdditive = (metric: string) => boolean;

/** The service's answer to a report request as the quirks have it; a refusal is as it was. */
export function quirkyAnswer(
  answer: SimulatedAnswer,
  quirks: Quirks,
  isAdditive: IsAdditive,
  place: Place,
): SimulatedAnswer {
  const { body } = answer;
  if (answer.status === 204 && quirks.emptied !== null)
    return documentAnswer({ rows: [], totals: {} });
  if (answer.status !== 200 || body === null || Buffer.isBuffer(body)) return answer;
  const { rounding, cap, pages, maxRows } = quirks;
  if (rowsOf(body).length > (maxRows ?? Infinity)) return gatewayTimeout();
  let document: JsonDocument = body;
  if (rounding !== null)
    document = withTotals(document, (total) => Number(total.toFixed(rounding)));
  if (cap !== null) document = { ...document, rows: rowsOf(document).slice(0, cap) };
  if (pages !== null) document = pageOfReport(document, pages, place);
  if (pages?.totals === 'page') document = withTotalsOfRows(document, isAdditive);
  return { ...answer, body: document };
}

/** The totals of additive metrics as the sums of the rows, exact to a millionth; those of others as they were. */
function withTotalsOfRows(report: JsonDocument, isAdditive: IsAdditive): JsonDocument {
  const millionths = (cell: unknown): number =>
    cell === null ? 0 : Math.round(Number(cell) * 1_000_000);
  return withTotals(report, (total, metric) => {
    if (!isAdditive(metric)) return total;
    return (
      rowsOf(report).reduce((sum, row) => sum + millionths(row[metric] ?? null), 0) / 1_000_000
    );
  });
}

function withTotals(
  report: JsonDocument,
  change: (total: number, metric: string) => number,
): JsonDocument {
  const totals = report['totals'];
  if (!isRecord(totals)) return report;
  const changed = Object.entries(totals).map(([id, total]) => [
    id,
    typeof total === 'number' ? change(total, id) : total,
  ]);
  return { ...report, totals: Object.fromEntries(changed) as unknown };
}

/**
 * The page of a report that an address asks for, the totals as they were. Nothing is documented of `pagination` but that it may
 * be null (service-interface: Report response), so it follows the lists of the campaign API.
 */
function pageOfReport(
  report: JsonDocument,
  quirk: PagesQuirk,
  { address, ordinal }: Place,
): JsonDocument {
  const rows = rowsOf(report).map((item, position) => ({ position, item }));
  const number = Number(address.searchParams.get('page') ?? '1');
  const page = pageOf(rows, {
    after: positionAsked(quirk, address, number),
    before: Infinity,
    limit: quirk.size,
  });
  const linkTo: LinkTo = (parameter, cursor) => {
    const link = new URL(address);
    link.searchParams.set(parameter, cursor);
    return link.href;
  };
  const pagination = paginationOf(page, quirk, linkTo, number);
  const { next: _, ...rest } = pagination;
  if (page.after === null && quirk.last === 'absent')
    return { ...report, rows: page.items, pagination: rest };
  if (page.after !== null || quirk.last === 'null')
    return { ...report, rows: page.items, pagination };
  /** After every row there can be. */
  const beyond = encodeCursor(Number.MAX_SAFE_INTEGER - ordinal);
  return { ...report, rows: page.items, pagination: { ...rest, next: linkTo('after', beyond) } };
}

function paginationOf(
  page: CursorPage<unknown>,
  { style }: PagesQuirk,
  linkTo: LinkTo,
  number: number,
): JsonDocument {
  if (style === 'v1') return pagingV1(page, linkTo);
  if (style === 'v2') return pagingV2(page, linkTo);
  if (style === 'cursor') return { next: page.after };
  return { page: number, next: page.after === null ? null : number + 1 };
}

/** The row before the page; page numbers count from 1. */
function positionAsked({ style, size }: PagesQuirk, { searchParams }: URL, number: number): number {
  if (style === 'number') return (number - 1) * size - 1;
  const wanted = pageRequestOf(
    new URLSearchParams([...searchParams].filter(([name]) => name !== 'limit')),
  );
  return typeof wanted === 'string' ? START : wanted.after;
}
