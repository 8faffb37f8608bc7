/** Windows: immutable values that state what is requested, in one part or several, what is replaced and what is recorded. */

import { type Day, type DayInterval, lastDay, meet } from './calendar.ts';
import { parseFilterKey } from './dimension.ts';
import { addsUpCertainly } from './metric.ts';
import type { Period } from './period.ts';
import { MAX_URL_BYTES, type Slice } from './slice.ts';

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
  'moved',
  'between',
] as const;

export type DueReason = (typeof dueReasons)[number];

export interface DuePeriod {
  readonly period: Period;
  readonly reason: DueReason;
}

export interface Window {
  /** No two windows of a run contain the same cell. */
  readonly id: string;
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly requested: DayInterval;
  /** Whole buckets, which contain `requested`. */
  readonly replaced: DayInterval;
  /** In order, contiguous, at least one. */
  readonly periods: readonly DuePeriod[];
  /** Their rows are disjoint and become visible together. */
  readonly parts: readonly Part[];
  /**
   * Set if totals by period are requested beside an undivided window: how many rows its periods, and others in the same answer,
   * had when they differed from control totals.
   */
  readonly compared?: ReadonlyMap<Day, number>;
}

export function windowOf(
  slice: Slice,
  fingerprint: string,
  periods: readonly DuePeriod[],
  parts: readonly Part[] = wholeParts(slice),
): Window {
  const [first, last] = [periods.at(0), periods.at(-1)];
  if (first === undefined || last === undefined)
    throw new RangeError('A window holds at least one period.');
  const [metric] = slice.metrics;
  const metricOfCube = slice.cube === undefined ? '' : ` ${metric}`;
  return {
    id: `${slice.name} ${first.period.bucket.start}${metricOfCube}`,
    slice,
    fingerprint,
    requested: { start: first.period.requested.start, end: last.period.requested.end },
    replaced: { start: first.period.bucket.start, end: last.period.bucket.end },
    periods,
    parts,
  };
}

/** Without what was only requested along. */
export function splitByPeriods(window: Window): readonly Window[] | null {
  const { slice, fingerprint, periods, parts } = window;
  if (periods.length < 2) return null;
  const middle = Math.ceil(periods.length / 2);
  return [periods.slice(0, middle), periods.slice(middle)].flatMap((half) => {
    const isDue = ({ reason }: DuePeriod) => reason !== 'between';
    const first = half.findIndex(isDue);
    const due = first === -1 ? [] : half.slice(first, half.findLastIndex(isDue) + 1);
    return due.length === 0 ? [] : [windowOf(slice, fingerprint, due, parts)];
  });
}

/** Without a date dimension, each replaces all rows. */
export function replacesSame(one: Window, other: Window): boolean {
  const { grain, cube, metrics } = one.slice;
  if (grain !== null && !meet(one.replaced, other.replaced)) return false;
  // A load replaces only the requested metrics of a cube, but all metrics of any other slice.
  return cube === undefined || metrics.some((metric) => other.slice.metrics.includes(metric));
}

export const haveSameMetrics = ({ slice: one }: Window, { slice: other }: Window): boolean =>
  one.metrics === other.metrics || one.metrics.join() === other.metrics.join();

/** `2026-01-03:2026-01-09`, both ends inclusive. */
export const labelOf = ({ requested }: Pick<Window, 'requested'>): string =>
  `${requested.start}:${lastDay(requested)}`;

export const namesOf = (window: Window) => ({ slice: window.slice.name, window: labelOf(window) });

export const subjectOf = (window: Window): string =>
  `slice ${window.slice.name}, ${labelOf(window)}`;

/** Bytes for origin, path and date period in a report's address. */
const REST_OF_URL = 300;

function bytesForMetrics(slice: Slice, part: Part = wholeWindow) {
  const { parameters, dimensions, maxUrlBytes = MAX_URL_BYTES } = slice;
  let room = maxUrlBytes - REST_OF_URL;
  const others = { ...parameters, ...partFilters(slice, part), dimensions: dimensions.join(',') };
  for (const [name, value] of Object.entries(others))
    room -= encodeURIComponent(`${name}=${value}`).length + 1;
  return Math.max(1, room);
}

export const roomOf = (slice: Slice, parts = wholeParts(slice)): number =>
  Math.min(...parts.map((part) => bytesForMetrics(slice, part)));

/** A comma takes three. */
export const bytesOf = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + encodeURIComponent(name).length + 3, 0);

const longestOf = (names: readonly string[]) => Math.max(...names.map((name) => bytesOf([name])));

export const hasRoom = (slice: Slice, part?: Part): boolean =>
  longestOf(slice.metrics) <= bytesForMetrics(slice, part);

export const VALUES_SHARE = 3 / 8;

/** The whole, or lists of values where no address holds a filter's own list. */
export function wholeParts(slice: Slice): readonly Part[] {
  const { dimensions, metrics, parameters, maxUrlBytes = MAX_URL_BYTES } = slice;
  const lists = dimensions.map((name) => [name, [...new Set(ownValues(slice, name))]] as const);
  const [longest] = lists.toSorted(([, one], [, other]) => bytesOf(other) - bytesOf(one));
  if (longest === undefined || longest[1].length < 2 || hasRoom(slice)) return [wholeWindow];
  const [dimension, values] = longest;
  const others = { ...slice, parameters: { ...parameters, [`${dimension}__in`]: '' } };
  const room = bytesForMetrics(others) - longestOf(metrics);
  const maxBytes = Math.min(VALUES_SHARE * maxUrlBytes, room);
  const batches = batchesOf(
    Array.from(values, (value) => [value]),
    maxBytes,
  );
  return batches.map((batch) => ({ [dimension]: { in: batch, notIn: [] } }));
}

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

/** What one request asks for, and one answer proves. */
export interface Box {
  readonly part: Part;
  readonly partNo: number;
  /** The batches of a part have the first metric that certainly adds up in common, if there is one. */
  readonly metrics: readonly string[];
  readonly batchNo: number;
  /** The dimensions of a request for totals of the undivided window. Null if it asks for rows. */
  readonly control: readonly string[] | null;
}

export const boxId = ({ part, metrics, control }: Box): string =>
  JSON.stringify([part, control, metrics]);

type Divided = Pick<Window, 'slice' | 'parts'>;

export function boxesOf({ slice, parts }: Divided): Box[] {
  const shared = slice.metrics.find((metric) => addsUpCertainly(slice, metric));
  // With the same batches in all parts, each batch covers the whole window.
  const batches = metricBatches(slice.metrics, roomOf(slice, parts), shared);
  return parts.flatMap((part, partNo) =>
    batches.map((metrics, batchNo): Box => ({ part, partNo, metrics, batchNo, control: null })),
  );
}

/**
 * What is requested beside a divided or compared whole: parts that agree with their own totals may leave out rows, as a missing
 * value is `in` no set and may match no `not in`. Unless all metrics add up, the values of each dividing dimension are
 * compared, too. With a filter of a metric no coarser report has the same rows.
 */
export function controlBoxesOf(window: Divided & Pick<Window, 'compared'>): Box[] {
  const { slice, parts } = window;
  const isCompared = window.compared !== undefined;
  if (isFiltered(window)) return [];
  // A report needs a dimension, and every report can be grouped by year.
  const period = slice.grain ?? 'year';
  const wholes = new Map<string, { readonly whole: Part; readonly dividing: Set<string> }>();
  for (const part of parts) {
    const whole = wholeOf(window, part);
    const { dividing } = wholes.get(partId(whole)) ?? { dividing: new Set() };
    for (const name of Object.keys(part)) if (!Object.hasOwn(whole, name)) dividing.add(name);
    wholes.set(partId(whole), { whole, dividing });
  }
  if (!isCompared && [...wholes.values()].every(({ dividing }) => dividing.size === 0)) return [];
  const certain = slice.metrics.filter((metric) => addsUpCertainly(slice, metric));
  const boxes: Box[] = [];
  for (const { whole, dividing } of wholes.values()) {
    const control = (dimensions: readonly string[], metrics: readonly string[]) => {
      // Without it, a batch of metrics that are all zero may have no rows.
      const batches = metricBatches(metrics, bytesForMetrics(slice, whole), certain[0]);
      for (const [batchNo, batch] of batches.entries())
        boxes.push({ part: whole, partNo: 0, metrics: batch, batchNo, control: dimensions });
    };
    if ((dividing.size > 0 || isCompared) && certain.length > 0) control([period], certain);
    if (certain.length === slice.metrics.length) continue;
    for (const dimension of dividing) control([period, dimension], slice.metrics);
  }
  return boxes;
}

function metricBatches(metrics: readonly string[], room: number, shared?: string) {
  if (bytesOf(metrics) <= room) return [metrics];
  const isShared = shared !== undefined && bytesOf([shared]) + longestOf(metrics) <= room;
  const first = isShared ? [shared] : [];
  const others = metrics.filter((metric) => !first.includes(metric)).map((metric) => [metric]);
  return batchesOf(others, room - bytesOf(first)).map((batch) => first.concat(batch));
}

/** service-interface: GET reports-service/report. */
export function reportParameters(window: Window, box?: Box): Record<string, string> {
  const { slice } = window;
  const { part = wholeWindow, metrics = slice.metrics, control = null } = box ?? {};
  const parameters = { ...slice.parameters };
  // A batch is not sorted: the metric to sort by may be in another batch, or not be due in a cube. A control box may lack both.
  const isBatch = metrics.length < (slice.cube ?? slice.metrics).length;
  if (control !== null || isBatch) delete parameters['sort'];
  if (control !== null) {
    delete parameters['index'];
    delete parameters['limit'];
  }
  return {
    ...parameters,
    ...partFilters(slice, part),
    dimensions: (control ?? slice.dimensions).join(','),
    metrics: metrics.join(','),
    date_period: labelOf(window),
  };
}

interface ValueSet {
  /** Only these values (default: any). */
  readonly in: readonly string[] | null;
  readonly notIn: readonly string[];
}

/** Some values of requested dimensions. One part is `in` a set, its complement `not in` it, so both cover unknown values. */
export type Part = Readonly<Record<string, ValueSet>>;

const wholeWindow: Part = {};

export const partId = (part: Part): string => JSON.stringify(part);

export function valuesOf(part: Part, dimension: string): ValueSet {
  const values = Object.hasOwn(part, dimension) ? part[dimension] : undefined;
  return values ?? { in: null, notIn: [] };
}

export function ownValues(
  { parameters }: Pick<Slice, 'parameters'>,
  dimension: string,
  filter: 'in' | 'not_in' = 'in',
): readonly string[] | undefined {
  const name = `${dimension}__${filter}`;
  return Object.hasOwn(parameters, name) ? parameters[name]?.split(',') : undefined;
}

/** Keeps the effect of the slice's own filters. */
export function partFilters(slice: Pick<Slice, 'parameters'>, part: Part): Record<string, string> {
  const filters: Record<string, string> = {};
  for (const [dimension, values] of Object.entries(part)) {
    const filtered = ownValues(slice, dimension);
    const included = values.in?.filter((value) => filtered?.includes(value) ?? true);
    if (included !== undefined && included.length > 0)
      filters[`${dimension}__in`] = included.join(',');
    const excluded = (ownValues(slice, dimension, 'not_in') ?? []).concat(values.notIn);
    if (excluded.length > 0) filters[`${dimension}__not_in`] = [...new Set(excluded)].join(',');
  }
  return filters;
}

/** Keeps the lists that every part has: they are disjoint and together the slice's own. */
export function wholeOf({ slice, parts }: Divided, part: Part): Part {
  const listed = Object.entries(part).filter(
    ([dimension]) =>
      ownValues(slice, dimension) !== undefined &&
      parts.every((other) => valuesOf(other, dimension).in !== null),
  );
  return Object.fromEntries(listed);
}

export const isDivided = (window: Divided, part: Part): boolean =>
  partId(wholeOf(window, part)) !== partId(part);

export const isFiltered = ({ slice }: Pick<Window, 'slice'>): boolean =>
  Object.keys(slice.parameters).some((name) => parseFilterKey(name)?.kind === 'metric');

/** At least 1 row, and 1 if only the catalog has the value. */
export interface KnownValue {
  readonly value: string;
  readonly rows: number;
}

export type KnownValues = ReadonlyMap<string, readonly KnownValue[]>;
