/** Values of JSON, and its canonical text: one for all ways to write the same value. */

import { formatDecimal, parseDecimal } from './column-type.ts';

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s"{}[\],:]+/g;

/**
 * Sorts the keys of each object, and drops blanks, needless escapes, exponents and trailing zeros. Repeated keys stay, in their
 * order.
 */
export function canonicalJson(json: string): string {
  const outside: string[] = [];
  const open: string[][] = [outside];
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      open.push([]);
      continue;
    }
    let value: string;
    if (token === '}') value = object(open.pop() ?? []);
    else if (token === ']') value = `[${(open.pop() ?? []).join(',')}]`;
    else value = scalar(token);
    open.at(-1)?.push(value);
  }
  return outside.join('');
}

function object(value: readonly string[]) {
  const names = value.filter((_, at) => at % 2 === 0);
  const members = names.map((name, at) => ({ name, text: `${name}:${value[at * 2 + 1] ?? ''}` }));
  members.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
  return `{${members.map(({ text }) => text).join(',')}}`;
}

function scalar(token: string) {
  if (token.startsWith('"'))
    return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token;
  const number = parseDecimal(token);
  return number === null ? token : formatDecimal(number);
}
