/** The fingerprint of a slice: a hash of everything that gives its rows their meaning. */

import { createHash } from 'node:crypto';

import type { Slice } from './slice.ts';

/** Only orders the rows of an answer. */
const ORDERING = 'sort';

/** Parameters that are lists, in which neither order nor repetition means anything; every `__in` and `__not_in` too. */
const listParameters: ReadonlySet<string> = new Set(['ad_revenue_sources', 'attribution_types', 'index', 'os_names']);

const isList = (name: string): boolean => listParameters.has(name) || /__(?:not_)?in$/.test(name);

/**
 * Sixteen hexadecimal digits over dimensions, filters and parameters, those that are lists taken as sets; where there are
 * headers, `-` and sixteen more over them. A cube differs from any other slice. Metrics, date period, refresh and types are left out: they change which cells
 * exist or how they are stored, not what a row means. Secrets are no part of it either, as keys are renewed.
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

/** Whether two fingerprints that differ do so in the headers alone. */
export const differInHeadersOnly = (one: string, other: string): boolean =>
  withoutHeaders(one) === withoutHeaders(other);

const withoutHeaders = (fingerprint: string): string => fingerprint.slice(0, DIGITS);

const DIGITS = 16;

const digits = (meaning: unknown): string =>
  createHash('sha256').update(JSON.stringify(meaning)).digest('hex').slice(0, DIGITS);

const setText = (list: string): string => [...new Set(list.split(','))].sort().join(',');
