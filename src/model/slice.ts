/** A declared report, after the configuration was read: what to request, how its values settle, and what gives its rows their meaning. */

import { createHash } from 'node:crypto';

import type { Day, UtcOffset } from './calendar.ts';
import type { DateDimension } from './dimension.ts';

/** One end of a date period: a day, days before the as-of day, or days before the start of the week or month that lies so many before the current. */
export type DateBound =
  | { readonly day: Day }
  | { readonly daysAgo: number }
  | { readonly startOf: 'week' | 'month'; readonly bucketsAgo: number; readonly daysBefore: number };

/** Both ends inclusive, as configured; resolved against the as-of instant in the slice's offset. */
export interface DatePeriod {
  readonly first: DateBound;
  readonly last: DateBound;
}

/** When a maturing period is fetched again: every run, at ripen's milestone ages, or at these ages in days. */
export type Refresh = 'nightly' | 'milestones' | readonly number[];

/** What becomes of a window whose completeness could not be proven: it fails, or is loaded with a warning and stays due. */
export type Completeness = 'require' | 'warn';

/** What slices may be named: also a name of a table and of a folder. */
export const SLICE_NAME = /^[a-z][a-z0-9_]{0,62}$/;

/** The longest address that proxies usually take. */
export const MAX_URL_BYTES = 8000;

/** Columns of a slice's table besides its dimensions and metrics. */
export const ownColumns = ['attr_dependency', '_extra', '_load_id'] as const;

/** One metric of a cube: what it measures, and at which age. */
export interface CubeMetric {
  /** The service's id. */
  readonly metric: string;
  /** The key it is configured by. */
  readonly cohort: string;
  /** As the service writes it: `d7`. */
  readonly age: string;
  /** 7 for `d7` and for `w1`, 30 for `m1`. */
  readonly ageDays: number;
}

export interface Slice {
  /** Also the table's name. */
  readonly name: string;
  readonly dimensions: readonly string[];
  /** Names, and patterns with `*` until what they stand for is known. */
  readonly metrics: readonly string[];
  /** Set for a cube: its metrics by key and age, in the order of `metrics`. */
  readonly cube?: readonly CubeMetric[];
  /** The longest address of a request; absent: the usual one. */
  readonly maxUrlBytes?: number;
  /** How many metrics it may have once its patterns are replaced; absent: the usual number. */
  readonly maxMetrics?: number;
  /** The finest date dimension; null for a report without one. */
  readonly grain: DateDimension | null;
  readonly datePeriod: DatePeriod;
  readonly utcOffset: UtcOffset;
  /** Every other parameter exactly as it goes on the wire, filters and `utc_offset` among them; sorted by name. */
  readonly parameters: Readonly<Record<string, string>>;
  /** What every request of it states in extra headers, such as whose account is asked: names in lower case, sorted; no secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly refresh: Refresh;
  /** Overrides by metric name or glob; the first match wins. */
  readonly horizons: readonly { readonly pattern: string; readonly horizonMs: number }[];
  readonly settleMs: number;
  /** How long values that never become final are refreshed. */
  readonly lifetimeMs: number;
  /** SQL types by metric name, in place of the catalog's. */
  readonly types: Readonly<Record<string, string>>;
  /** By metric name whether its values add up over rows, in place of what the catalog and the name say. */
  readonly additive: Readonly<Record<string, boolean>>;
  readonly completeness: Completeness;
  /** How many days before the as-of day a loaded period is kept; null keeps all for ever. */
  readonly retainDays: number | null;
  /** Rows of one window that may be rejected before the window is held. */
  readonly maxRejects: number;
}

/** Only orders the rows of an answer. */
const ORDERING = 'sort';

/** Parameters that are lists, in which neither order nor repetition means anything; every `__in` and `__not_in` too. */
const listParameters: ReadonlySet<string> = new Set(['ad_revenue_sources', 'attribution_types', 'index', 'os_names']);

const isList = (name: string): boolean => listParameters.has(name) || /__(?:not_)?in$/.test(name);

/**
 * Sixteen hexadecimal digits over dimensions, filters and parameters (lists as sets), and where there are headers `-` and sixteen more.
 * Metrics, date period, refresh and types change no meaning of a row; secrets are renewed.
 */
export function fingerprintOf(slice: Pick<Slice, 'cube' | 'dimensions' | 'parameters' | 'headers'>): string {
  const parameters = Object.entries(slice.parameters)
    .filter(([name]) => name !== ORDERING)
    .map(([name, value]): [string, string] => [name, isList(name) ? setText(value) : value]);
  const meaning = [
    [...slice.dimensions].sort(),
    parameters.sort(([a], [b]) => (a < b ? -1 : 1)),
    ...(slice.cube === undefined ? [] : ['cube']),
  ];
  const headers = Object.entries(slice.headers);
  return headers.length === 0 ? digits(meaning) : `${digits(meaning)}-${digits(headers)}`;
}

const DIGITS = 16;

const digits = (meaning: unknown): string =>
  createHash('sha256').update(JSON.stringify(meaning)).digest('hex').slice(0, DIGITS);

const setText = (list: string): string => [...new Set(list.split(','))].sort().join(',');
