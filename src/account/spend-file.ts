/**
 * Reads spend files, CSV (RFC 4180) or newline-delimited JSON. A bad line is rejected alone, under the number an editor shows,
 * and no number becomes a float: csv-parse and DuckDB fail at one or the other.
 */

import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';

import { parse } from 'lossless-json';
import * as z from 'zod';

import { Failure, storageFailed } from '../errors.ts';
import { requiredColumns, type SpendRecord } from './spend-rules.ts';

/** Half a million short lines, which take hours to send, and memory: 600,000 took 1.2 GB (measured). */
const MAX_BYTES = 32 * 1024 * 1024;

/** A value of a CSV line: the quoted part, the closing quote, the unquoted part, the end. */
const CSV_VALUE = /(?:"([^"]*(?:""[^"]*)*)("|$))?([^,\n]*?)(,|\r?\n|\r?$)/gy;
/** A string of a JSON line. A key is followed by its colon. */
const JSON_TEXT = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

/** Throws `USAGE_INVALID` for another file, and `SPEND_REJECTED` if a CSV header is wrong. */
export async function readSpendFile(file: string): Promise<SpendRecord[]> {
  const extension = extname(file).toLowerCase();
  const stats = await stat(file).catch(() => null);
  let problem: string | null = null;
  if (extension !== '.csv' && extension !== '.ndjson') problem = 'does not end in .csv or .ndjson';
  else if (stats === null) problem = 'was not found';
  // A pipe can be read only once and a device never ends; neither has a place for the rejects.
  else if (!stats.isFile()) problem = 'is not a regular file';
  else if (stats.size > MAX_BYTES) problem = `had ${stats.size} bytes, more than ${MAX_BYTES}`;
  if (problem !== null) {
    throw new Failure('USAGE_INVALID', `The spend file ${file} ${problem}.`, {
      facts: { file },
      hint: 'Use an existing .csv or .ndjson file, and send a larger one in parts.',
    });
  }
  // Invalid bytes become U+FFFD, which a rule finds.
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    const hint = 'Check the permissions of the file.';
    throw storageFailed(`${file} could not be read`, cause, { facts: { file }, hint });
  });
  const text = content.replace(/^\uFEFF/, '');
  if (extension === '.csv') return csvRecords(file, text);
  return text
    .split('\n')
    .flatMap((raw, at) => (raw.trim() === '' ? [] : [{ line: at + 1, ...objectOf(raw.trim()) }]));
}

function csvRecords(file: string, text: string): SpendRecord[] {
  const lines = csvLines(text);
  const first = lines.next();
  const header = first.done === true ? [] : first.value.values;
  const twice = new Set(header.filter((name, at) => header.indexOf(name) !== at));
  const problems = [
    ...requiredColumns.filter((name) => !header.includes(name)).map((name) => `no ${name}`),
    ...[...twice].map((name) => `${JSON.stringify(name)} twice`),
  ];
  if (problems.length > 0) {
    const message = `The columns of ${file} were wrong: it had ${problems.join(', ')}.`;
    throw new Failure('SPEND_REJECTED', message, {
      facts: { file, problems: problems.length },
      hint: `Name the columns ${requiredColumns.join(', ')}, in lower case, separated by commas; nothing was sent.`,
    });
  }
  return Array.from(lines, ({ line, values, defect }) => {
    const defects = defect === null ? [] : [defect];
    if (values.length !== header.length)
      defects.unshift(`the line had ${values.length} values for ${header.length} columns`);
    // The columns of a malformed line are a guess.
    const given =
      defects.length > 0
        ? { raw: values }
        : Object.fromEntries(header.map((name, at) => [name, values[at]]));
    return { line, given, defects };
  });
}

interface CsvLine {
  readonly line: number;
  readonly values: string[];
  defect: string | null;
}

/** Yields no blank lines. A line break in quotes does not end a line. */
function* csvLines(text: string): Generator<CsvLine, void> {
  let line = 1;
  let started: CsvLine = { line, values: [], defect: null };
  for (const [whole, quoted, closing, bare = '', end] of text.matchAll(CSV_VALUE)) {
    started.values.push(`${quoted?.replaceAll('""', '"') ?? ''}${bare}`);
    if (closing === '')
      started.defect = 'a quote is never closed, so the rest was read as one value';
    else if (quoted !== undefined && bare !== '')
      started.defect = 'a value continues after its closing quote';
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    const isBlank = started.values.length === 1 && quoted === undefined && bare.trim() === '';
    if (!isBlank) yield started;
    started = { line, values: [], defect: null };
  }
}

const objectShape = z.record(z.string(), z.unknown());

/** Reads numbers as text. A repeated key is a defect: a parser would keep only the last. */
function objectOf(raw: string): Pick<SpendRecord, 'given' | 'defects'> {
  let defect = 'the line is not a JSON object';
  try {
    const texts = [...raw.matchAll(JSON_TEXT)].filter(([, , colon]) => colon !== undefined);
    const keys = texts.map(([, text = '']) => String(JSON.parse(text)));
    const twice = keys.find((key, at) => keys.indexOf(key) !== at);
    if (twice === undefined) {
      const given = objectShape.parse(parse(raw, null, { parseNumber: (number) => number }));
      return { given, defects: [] };
    }
    defect = `the line had the key ${JSON.stringify(twice)} twice`;
  } catch {
    // The defect states it.
  }
  return { given: { raw }, defects: [defect] };
}
