/** Windows: immutable values that state what is requested, in one part or several, what is replaced and what is recorded. */

import { type DayInterval, lastDay, meet } from './calendar.ts';
import { filtersMetric } from './dimension.ts';
import type { Period } from './period.ts';
import { MAX_URL_BYTES, type Slice } from './slice.ts';

/** Why a period is fetched. */
export const dueReasons = [
  'new',
  'missing',
  'open',
  'empty',
  'unproven',
  'maturing',
  'became final',
  'metric added',
  'meaning changed',
  'forced',
  'audit',
] as const;

export type DueReason = (typeof dueReasons)[number];

export interface DuePeriod {
  readonly period: Period;
  readonly reason: DueReason;
}

export interface Window {
  /** Slice and first period, and for a cube the first metric: no two windows of a run contain the same cell. */
  readonly id: string;
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly requested: DayInterval;
  /** Whole calendar buckets to replace; they contain `requested`. */
  readonly replaced: DayInterval;
  /** In order, contiguous, at least one. */
  readonly periods: readonly DuePeriod[];
  /** At least one; their rows are disjoint and become visible together. */
  readonly parts: readonly Part[];
}

/** A window over contiguous periods. Throws a RangeError if there are none. */
export function windowOf(
  slice: Slice,
  fingerprint: string,
  periods: readonly DuePeriod[],
  parts: readonly Part[] = [wholeWindow],
): Window {
  const [first, last] = [periods.at(0), periods.at(-1)];
  if (first === undefined || last === undefined)
    throw new RangeError('A window holds at least one period.');
  return {
    id: [
      slice.name,
      first.period.bucket.start,
      ...(slice.cube === undefined ? [] : slice.metrics.slice(0, 1)),
    ].join(' '),
    slice,
    fingerprint,
    requested: { start: first.period.requested.start, end: last.period.requested.end },
    replaced: { start: first.period.bucket.start, end: last.period.bucket.end },
    periods,
    parts,
  };
}

/** Whether two windows of a slice replace a common row. Without a date dimension, each replaces all rows. */
export function replacesSame(one: Window, other: Window): boolean {
  return (
    (one.slice.grain === null || meet(one.replaced, other.replaced)) &&
    haveMetricInCommon(one.slice, other.slice)
  );
}

/** A load replaces only the requested metrics of a cube, but all metrics of any other slice. */
const haveMetricInCommon = (one: Slice, other: Slice): boolean =>
  one.cube === undefined || one.metrics.some((metric) => other.metrics.includes(metric));

/** Whether two windows of a slice request the same metrics. */
export const haveSameMetrics = ({ slice: one }: Window, { slice: other }: Window): boolean =>
  one.metrics === other.metrics || one.metrics.join() === other.metrics.join();

/** The days of a window as people read them and requests state them: `2026-01-03:2026-01-09`, both ends inclusive. */
export function labelOf(window: Pick<Window, 'requested'>): string {
  return `${window.requested.start}:${lastDay(window.requested)}`;
}

/** The beginning of a message about a window. */
export const subjectOf = (window: Window): string =>
  `slice ${window.slice.name}, ${labelOf(window)}`;

/** Bytes for origin, path and date period in a report's address. */
const REST_OF_URL = 300;

/** The bytes left for metrics in a request's address, besides the slice's own parameters and these filters; at least 1. */
export function bytesForMetrics(
  slice: Slice,
  filters: Readonly<Record<string, string>> = {},
): number {
  const { parameters, dimensions, maxUrlBytes = MAX_URL_BYTES } = slice;
  const others = Object.entries({ ...parameters, ...filters, dimensions: dimensions.join(',') });
  const taken = others.reduce(
    (sum, each) => sum + encodeURIComponent(each.join('=')).length + 1,
    REST_OF_URL,
  );
  return Math.max(1, maxUrlBytes - taken);
}

/** The bytes that names take in an address, in which a comma takes three. */
export const bytesOf = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + encodeURIComponent(name).length + 3, 0);

/** Joins lists of names into batches that take at most `maxBytes` in an address; no list is divided. */
export function batchesOf(lists: readonly (readonly string[])[], maxBytes: number): string[][] {
  const batches: string[][] = [];
  let room = 0;
  for (const names of lists) {
    const bytes = bytesOf(names);
    const batch = batches.at(-1);
    if (batch === undefined || bytes > room) {
      batches.push([...names]);
      room = maxBytes - bytes;
    } else {
      batch.push(...names);
      room -= bytes;
    }
  }
  return batches;
}

/** One request of a window: a part of it, with as many metrics as an address holds. */
export interface PartRequest {
  readonly part: Part;
  readonly metrics: readonly string[];
}

/** The requests that answer a window together: one per part, or per batch of its metrics, whose rows are then joined. */
export function requestsOf(
  window: Pick<Window, 'slice' | 'parts'>,
): (PartRequest & { readonly partNo: number })[] {
  const { slice, parts } = window;
  const names = slice.metrics.map((name) => [name]);
  return parts.flatMap((part, partNo) => {
    const room = bytesForMetrics(slice, partFilters(slice, part));
    // If the filters leave no room for a name, batches would only make many addresses that are too long.
    const batches = names.some((name) => bytesOf(name) > room) ? [] : batchesOf(names, room);
    return (batches.length > 1 ? batches : [slice.metrics]).map((metrics) => ({
      part,
      partNo,
      metrics,
    }));
  });
}

/** Identifies a request of a window. */
export const requestId = ({ part, metrics }: PartRequest): string =>
  `${partId(part)} ${metrics.join()}`;

/** Every query parameter of a window's report, or of one request of it (service-interface: GET reports-service/report). */
export function reportParameters(
  window: Window,
  { part, metrics }: PartRequest = { part: wholeWindow, metrics: window.slice.metrics },
): Record<string, string> {
  const own = Object.entries(window.slice.parameters);
  // A batch is not sorted: the metric to sort by may be in another batch.
  const isBatch = metrics.length < window.slice.metrics.length;
  return {
    ...Object.fromEntries(isBatch ? own.filter(([name]) => name !== 'sort') : own),
    ...partFilters(window.slice, part),
    dimensions: window.slice.dimensions.join(','),
    metrics: metrics.join(','),
    date_period: labelOf(window),
  };
}

interface ValueSet {
  /** Only these values; null if any. */
  readonly in: readonly string[] | null;
  readonly notIn: readonly string[];
}

/**
 * What one request of a window covers: the same days, narrowed to some values of requested dimensions, which only partitions
 * rows. A part and its complement always cover the whole, including unknown values: one is `in` a set, the other `not in` it.
 */
export type Part = Readonly<Record<string, ValueSet>>;

const wholeWindow: Part = {};

/** Identifies a part from one request to the next. */
export const partId = (part: Part): string => JSON.stringify(part);

const anyValue: ValueSet = { in: null, notIn: [] };

/** The values of a dimension to which a part is already narrowed; any if it is not. */
export function valuesOf(part: Part, dimension: string): ValueSet {
  return (Object.hasOwn(part, dimension) ? part[dimension] : undefined) ?? anyValue;
}

/** The values of a dimension that the slice's own filter allows; undefined if it has no such filter. */
export function ownValues(
  slice: Pick<Slice, 'parameters'>,
  dimension: string,
): readonly string[] | undefined {
  const own = ownText(slice, `${dimension}__in`);
  return own === undefined ? undefined : listOf(own);
}

const listOf = (text: string | undefined): readonly string[] =>
  text === undefined ? [] : text.split(',');

/** The slice's own value of a parameter, whose name may be any text; undefined if it has none. */
const ownText = ({ parameters }: Pick<Slice, 'parameters'>, name: string): string | undefined =>
  Object.hasOwn(parameters, name) ? parameters[name] : undefined;

/** The filters to send for a part; merged with the slice's own filters, which keep their effect. */
export function partFilters(slice: Pick<Slice, 'parameters'>, part: Part): Record<string, string> {
  const filters: Record<string, string> = {};
  for (const [dimension, values] of Object.entries(part)) {
    const own = ownValues(slice, dimension);
    const wanted = values.in?.filter((value) => own?.includes(value) ?? true);
    if (wanted !== undefined && wanted.length > 0) filters[`${dimension}__in`] = wanted.join(',');
    const unwanted = [
      ...new Set([...listOf(ownText(slice, `${dimension}__not_in`)), ...values.notIn]),
    ];
    if (unwanted.length > 0) filters[`${dimension}__not_in`] = unwanted.join(',');
  }
  return filters;
}

/** Whether a metric filter limits the rows of a window: such a filter applies to the grouped rows. */
export const isFiltered = ({ slice }: Pick<Window, 'slice'>): boolean =>
  Object.keys(slice.parameters).some(filtersMetric);

/** A value of a dimension, and the number of rows it is known to have: at least 1, and 1 if only the catalog has the value. */
export interface KnownValue {
  readonly value: string;
  readonly rows: number;
}
