/**
 * The lines of a newline-delimited JSON file.
 *
 * A bare JSON number is taken by its text and never becomes a float: amounts and ids of any length stay exact. Half of a
 * surrogate pair becomes U+FFFD, as bytes do that are no UTF-8.
 */

import { parse } from 'lossless-json';

import { storable } from '../warehouse/sql.ts';
import { checkCase, type UnknownColumns } from './column-names.ts';
import type { SpendRecord, SpendRecords } from './spend-record.ts';
import { MAX_LINE_CHARACTERS, overlongLine, textChunks } from './text-chunks.ts';

/** What tells the keys of an object from all else: texts, and the marks around them. */
const TEXT_OR_MARK = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;

/** Enough of a line that is no JSON to recognise it. */
const RAW_CHARACTERS = 1000;

/** Reads the file as it is asked for. Throws `SPEND_REJECTED` for a column that is a known one in wrong case. */
export async function* ndjsonRecords(file: string, unknown: UnknownColumns): SpendRecords {
  for await (const [line, text] of numberedLines(file)) {
    const record = recordOf(line, text);
    if (record.defects.length === 0) {
      for (const name of Object.keys(record.given)) {
        checkCase(`line ${line} of ${file}`, name);
        unknown.note(name);
      }
    }
    yield record;
  }
}

/** Non-blank lines with their numbers from 1. */
async function* numberedLines(file: string): AsyncGenerator<[number, string], void> {
  let line = 1;
  let rest = '';
  for await (const chunk of textChunks(file)) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      if (part.length > MAX_LINE_CHARACTERS) throw overlongLine(file, line);
      if (part.trim() !== '') yield [line, part];
      line += 1;
    }
    if (rest.length > MAX_LINE_CHARACTERS) throw overlongLine(file, line);
  }
  if (rest.trim() !== '') yield [line, rest];
}

function recordOf(line: number, text: string): SpendRecord {
  const parsed = parsedObject(text);
  const defects = parsed === null ? ['the line was no JSON object'] : brokenKeys(text);
  if (parsed !== null && defects.length === 0) return { line, given: parsed, defects };
  return { line, given: {}, defects, raw: storable(text.trim().slice(0, RAW_CHARACTERS)) };
}

/** What is wrong with the keys of a JSON object. Of a key that is there twice parsers keep the last one, or tell only of other values. */
function brokenKeys(text: string): string[] {
  const met = new Map<string, number>();
  let depth = 0;
  let name = '';
  for (const [token] of text.matchAll(TEXT_OR_MARK)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (token !== ':') name = token;
    else if (depth === 1) {
      const key = String(JSON.parse(name));
      met.set(key, (met.get(key) ?? 0) + 1);
    }
  }
  return [...met].flatMap(([key, times]) => {
    if (storable(key) !== key) return ['the line had a key that was not UTF-8'];
    return times === 1 ? [] : [`the line had the key ${JSON.stringify(key.slice(0, 100))} ${times} times`];
  });
}

const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? storable(value) : value);

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value = parse(text, wellFormed, {
      parseNumber: (number) => number,
      onDuplicateKey: ({ newValue }) => newValue,
    });
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
