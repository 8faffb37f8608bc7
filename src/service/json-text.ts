/** JSON whose long integers survive: ids beyond 2^53 become strings instead of rounded numbers. */

/** A string, to be skipped, or a whole number token. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const LONG_DIGITS = /\d{16}/;

/** Parses JSON, integers of 16 or more digits as strings; throws SyntaxError. */
export function parseJson(text: string): unknown {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text.replaceAll(STRING_OR_NUMBER, (token) => (LONG_INTEGER.test(token) ? `"${token}"` : token)));
}
