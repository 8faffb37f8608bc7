/** A saved body read as the one report it is, in memory, for bodies of few rows. */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import * as z from 'zod';

import { parseJson } from '../service/body.ts';
import type { SavedBody } from '../service/service.ts';
import { type BesideRows, besideRowsOf } from '../spool/beside-rows.ts';
import { onDisk } from '../spool/spool.ts';

export interface SavedReport {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** By metric, as text. */
  readonly totals: ReadonlyMap<string, string>;
  readonly beside: BesideRows;
}

/** As it was parsed: a copy would lack a metric named `__proto__`. */
const record = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

const rowsShape = z.array(record).catch([]);

/** What a body says; nothing where it is another document. Throws a SyntaxError where it is none, and `STORAGE_FAILED`. */
export async function readReport({ path, encoding }: SavedBody): Promise<SavedReport> {
  const bytes = await onDisk('spool', path, async () => readFile(path));
  const plain = encoding === 'gzip' ? await promisify(gunzip)(bytes) : bytes;
  const document = record.catch({}).parse(parseJson(plain.toString('utf8')));
  return {
    rows: rowsShape.parse(document['rows']),
    totals: textsIn(record.catch({}).parse(document['totals'])),
    beside: besideRowsOf(document),
  };
}

/** Totals and warnings, with hundreds of metrics; longer bodies have rows. */
const MOST_BYTES_WITHOUT_ROWS = 65_536;

/** Whether a body brings rows; one that is no document is found to be none when it is loaded. */
export async function hasRows(saved: SavedBody): Promise<boolean> {
  if (saved.plainBytes > MOST_BYTES_WITHOUT_ROWS) return true;
  try {
    return (await readReport(saved)).rows.length > 0;
  } catch (error) {
    if (error instanceof SyntaxError) return true;
    throw error;
  }
}

/** Numbers and texts as texts; what is neither states nothing. */
function textsIn(totals: Readonly<Record<string, unknown>>): Map<string, string> {
  return new Map(
    Object.entries(totals).flatMap(([metric, total]): [string, string][] =>
      typeof total === 'number' || typeof total === 'string' ? [[metric, String(total)]] : [],
    ),
  );
}
