/**
 * The lines of a spend file that is text, CSV (RFC 4180) or newline-delimited JSON, each with its number.
 *
 * Own readers, because a bad line is rejected alone, under the number an editor shows, and no number becomes a float:
 * csv-parse and DuckDB lose one or the other.
 */

import { createReadStream } from 'node:fs';

import { parse } from 'lossless-json';
import * as z from 'zod';

import { Failure, storageFailed } from '../errors.ts';
import { storable } from '../warehouse/sql.ts';
import type { SpendRecord } from './rules.ts';

/** No honest line is longer; a quote that is never closed would otherwise fill the memory. */
const MAX_LINE_CHARACTERS = 65_536;
/** Enough of a line that is no JSON to recognise it. */
const RAW_CHARACTERS = 1000;

const STRAY = 'a value went on after its closing quote';
const OPEN = 'a quote was never closed: all that follows it was read as one value';

/** A value of a CSV line: what stands in quotes, the closing quote, what stands without quotes, the comma. */
const CSV_VALUE = /(?:"([^"]*(?:""[^"]*)*)("|$))?([^,]*)(,|$)/gy;
/** What tells the keys of an object from all else: texts, and the marks around them. */
const TEXT_OR_MARK = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;

/** A line of CSV, quotes resolved. */
export interface CsvLine {
  readonly line: number;
  readonly values: readonly string[];
  readonly defect: string | null;
}

/** The lines of a CSV file; one whose quote is open goes on in the next one. */
export async function* csvLines(file: string): AsyncGenerator<CsvLine, void> {
  let first = 1;
  let open: string | null = null;
  for await (const [line, part] of numberedLines(file)) {
    if (open === null) first = line;
    const text: string = open === null ? part : `${open}\n${part}`;
    if (text.length > MAX_LINE_CHARACTERS) throw overlong(file, first);
    const { values, isOpen, defect } = csvValues(text.replace(/\r$/, ''));
    open = isOpen ? text : null;
    if (!isOpen && text.trim() !== '') yield { line: first, values, defect };
  }
  if (open !== null) yield { line: first, values: csvValues(open).values, defect: OPEN };
}

function csvValues(text: string): Pick<CsvLine, 'values' | 'defect'> & { readonly isOpen: boolean } {
  const values: string[] = [];
  let isOpen = false;
  let defect: string | null = null;
  for (const [, quoted, closing, bare = '', comma] of text.matchAll(CSV_VALUE)) {
    values.push(`${quoted?.replaceAll('""', '"') ?? ''}${bare}`);
    if (quoted !== undefined && bare !== '') defect = STRAY;
    isOpen = closing === '';
    if (comma === '') break;
  }
  return { values, isOpen, defect };
}

/** The records of a newline-delimited JSON file, bare numbers by their text. */
export async function* ndjsonRecords(
  file: string,
  checkKeys: (line: number, keys: readonly string[]) => void,
): AsyncGenerator<SpendRecord, void> {
  for await (const [line, text] of numberedLines(file)) {
    if (text.trim() === '') continue;
    const given = parsedObject(text);
    const defects = given === null ? ['the line was no JSON object'] : brokenKeys(text);
    if (given !== null && defects.length === 0) {
      checkKeys(line, Object.keys(given));
      yield { line, given, defects };
    } else yield { line, given: {}, defects, raw: storable(text.trim().slice(0, RAW_CHARACTERS)) };
  }
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
const numberText = (number: string): string => number;
const objectShape = z.record(z.string(), z.unknown());

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const options = { parseNumber: numberText, onDuplicateKey: ({ newValue }: { newValue: unknown }) => newValue };
    return objectShape.safeParse(parse(text, wellFormed, options)).data ?? null;
  } catch {
    return null;
  }
}

/** The lines of a UTF-8 file with their numbers from 1, without its byte order mark; bytes that are no UTF-8 become U+FFFD. */
async function* numberedLines(file: string): AsyncGenerator<[number, string], void> {
  let line = 1;
  let rest = '';
  try {
    for await (const chunk of createReadStream(file, 'utf8')) {
      const parts = `${rest}${String(chunk)}`.split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        yield [line, withoutMark(line, part)];
        line += 1;
      }
      if (rest.length > MAX_LINE_CHARACTERS) throw overlong(file, line);
    }
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const hint = 'Check the permissions of the file.';
    throw storageFailed(`${file} could not be read`, cause, { facts: { file }, hint });
  }
  yield [line, withoutMark(line, rest)];
}

const withoutMark = (line: number, text: string): string => (line === 1 ? text.replace(/^\uFEFF/, '') : text);

function overlong(file: string, line: number): Failure {
  return new Failure('SPEND_REJECTED', `Line ${line} of ${file} had more than ${MAX_LINE_CHARACTERS} characters.`, {
    facts: { file, line, max_characters: MAX_LINE_CHARACTERS },
    hint: 'Look for a quote that is never closed, or a file that is not text; nothing was sent.',
  });
}
