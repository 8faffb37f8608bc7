/**
 * JSON whose long integers survive: ids beyond 2^53 become strings instead of rounded numbers. Halves of characters do
 * not: no text that is kept can hold one.
 */

import { withoutHalves } from './half-surrogates.ts';

/** A string, to be skipped, or a whole number token. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const LONG_DIGITS = /\d{16}/;

/** Parses JSON, integers of 16 or more digits as strings; throws SyntaxError. */
export function parseJson(given: string): unknown {
  const text = withoutHalves(given);
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text.replaceAll(STRING_OR_NUMBER, (token) => (LONG_INTEGER.test(token) ? `"${token}"` : token)));
}
