/** A declared report: what to request, how its values settle, and what gives its rows their meaning. */

import { createHash } from 'node:crypto';

import type { Day, UtcOffset, WeekStart } from './calendar.ts';
import type { DateDimension } from './dimension.ts';

/** A day, days before the as-of day, or days before the start of this or an earlier week or month. */
export type DateBound =
  | { readonly day: Day }
  | { readonly daysAgo: number }
  | {
      readonly startOf: 'week' | 'month';
      readonly bucketsAgo: number;
      readonly daysBefore: number;
    };

/** Both ends are inclusive. */
export interface DatePeriod {
  readonly first: DateBound;
  readonly last: DateBound;
}

/** When a maturing period is fetched again. Numbers are ages in days. */
export type Refresh = 'nightly' | 'milestones' | readonly number[];

export const SLICE_NAME = /^[a-z][a-z0-9_]{0,62}$/;

/** The longest address that proxies usually accept. */
export const MAX_URL_BYTES = 8000;

export const ownColumns = ['attr_dependency', '_extra', '_load_id'] as const;

export interface CubeMetric {
  readonly metric: string;
  /** The key it is configured by, without `_{age}` at its end. */
  readonly cohort: string;
  readonly age: string;
  readonly ageDays: number;
}

export interface Slice {
  readonly name: string;
  /** Set for the internal slice that reads control totals: the name they are recorded under. */
  readonly control?: string;
  readonly dimensions: readonly string[];
  /** Names, and patterns with `*` until those are replaced. */
  readonly metrics: readonly string[];
  /** Set for a cube, in the order of `metrics`. */
  readonly cube?: readonly CubeMetric[];
  /** Default: `MAX_URL_BYTES`. */
  readonly maxUrlBytes?: number;
  /** Once its patterns are replaced (default: `MAX_STARRED`). */
  readonly maxMetrics?: number;
  readonly grain: DateDimension | null;
  readonly datePeriod: DatePeriod;
  readonly utcOffset: UtcOffset;
  /** Of the service's weeks, and of `week_start` in the date period. */
  readonly weekStartsOn: WeekStart;
  /** As they are sent, with filters and `utc_offset`, sorted. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Names in lower case, sorted, without secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly refresh: Refresh;
  /** The first match wins. */
  readonly horizons: readonly { readonly pattern: string; readonly horizonMs: number }[];
  readonly settleMs: number;
  readonly lifetimeMs: number;
  readonly types: Readonly<Record<string, string>>;
  readonly additive: Readonly<Record<string, boolean>>;
  readonly completeness: 'require' | 'warn';
  readonly retainDays: number | null;
  readonly maxRejects: number;
}

const listParameters = new Set(['ad_revenue_sources', 'attribution_types', 'index', 'os_names']);

/** Hashes what gives a row its meaning. Secrets are renewed and do not count. */
export function fingerprintOf({
  cube,
  dimensions,
  parameters,
  headers,
}: Pick<Slice, 'cube' | 'dimensions' | 'parameters' | 'headers'>): string {
  const selection: [string, string][] = [];
  for (const [name, value] of Object.entries(parameters)) {
    const isList = listParameters.has(name) || /__(?:not_)?in$/.test(name);
    const set = isList ? [...new Set(value.split(','))].sort().join(',') : value;
    // The order of rows changes no value.
    if (name !== 'sort') selection.push([name, set]);
  }
  const meaning = [
    [...dimensions].sort(),
    selection.sort(([a], [b]) => (a < b ? -1 : 1)),
    ...(cube === undefined ? [] : ['cube']),
  ];
  const digits = [meaning, Object.entries(headers)]
    .filter((part) => part.length > 0)
    .map((part) => createHash('sha256').update(JSON.stringify(part)).digest('hex').slice(0, 16));
  return digits.join('-');
}

/** Tables with other headers may be of another account. */
export const headersIn = (fingerprint: string): string | undefined => fingerprint.split('-')[1];
