/** Windows: one immutable value for what is asked, what is replaced and what is recorded. */

import { lastDay, type DayInterval } from './calendar.ts';
import { partFilters, wholeWindow, type Part } from './part.ts';
import type { Period } from './period.ts';
import type { Slice } from './slice.ts';

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
  readonly slice: Slice;
  readonly fingerprint: string;
  /** Days to ask for. */
  readonly asked: DayInterval;
  /** Whole calendar buckets to replace; holds `asked`. */
  readonly replaced: DayInterval;
  /** In order, contiguous, at least one. */
  readonly periods: readonly DuePeriod[];
  /** Requests that answer it together, at least one; their rows are disjoint and become visible together. */
  readonly parts: readonly Part[];
  /** How often its answer was thrown away and asked for again. */
  readonly attempt: number;
}

/** A window over contiguous periods. */
export function windowOf(
  slice: Slice,
  fingerprint: string,
  periods: readonly DuePeriod[],
  parts: readonly Part[] = [wholeWindow],
): Window {
  const [first, last] = [periods.at(0), periods.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError('A window holds at least one period.');
  return {
    slice,
    fingerprint,
    asked: { start: first.period.asked.start, end: last.period.asked.end },
    replaced: { start: first.period.bucket.start, end: last.period.bucket.end },
    periods,
    parts,
    attempt: 0,
  };
}

/** A window as people read it and as the wire wants it: `2026-01-03:2026-01-09`, both ends inclusive. */
export function labelOf(window: Pick<Window, 'asked'>): string {
  return `${window.asked.start}:${lastDay(window.asked)}`;
}

/** How a message about a window begins. */
export const subjectOf = (window: Window): string => `slice ${window.slice.name}, ${labelOf(window)}`;

/** Every query parameter of the report that answers a window, or one part of it (service-interface: GET reports-service/report). */
export function reportParameters(window: Window, part: Part = wholeWindow): Record<string, string> {
  return {
    ...window.slice.parameters,
    ...partFilters(window.slice, part),
    dimensions: window.slice.dimensions.join(','),
    metrics: window.slice.metrics.join(','),
    date_period: labelOf(window),
  };
}
