/** A saved body read as the one report it is, in memory, for bodies of few rows. */

import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';

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

/**
 * The rows of a body as text, of a long body only their beginning; empty if it has none. Two pages of one report never begin with
 * the same rows. A body that is no document is found to be none when it is loaded.
 */
export async function rowsText(saved: SavedBody): Promise<string> {
  if (saved.plainBytes > MOST_BYTES_WITHOUT_ROWS) {
    const head = await onDisk('spool', saved.path, async () => plainHead(saved));
    return head.slice(Math.max(0, head.indexOf('"rows"')));
  }
  try {
    const { rows } = await readReport(saved);
    return rows.length === 0 ? '' : JSON.stringify(rows);
  } catch (error) {
    if (error instanceof SyntaxError) return saved.path;
    throw error;
  }
}

async function plainHead({ path, encoding }: SavedBody): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const file = createReadStream(path);
  const plain = encoding === 'gzip' ? file.pipe(createGunzip()) : file;
  for await (const chunk of plain) {
    if (!Buffer.isBuffer(chunk)) continue;
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_BYTES_WITHOUT_ROWS) break;
  }
  file.destroy();
  return Buffer.concat(parts).subarray(0, MOST_BYTES_WITHOUT_ROWS).toString('latin1');
}

/** Numbers and texts as texts; what is neither states nothing. */
function textsIn(totals: Readonly<Record<string, unknown>>): Map<string, string> {
  return new Map(
    Object.entries(totals).flatMap(([metric, total]): [string, string][] =>
      typeof total === 'number' || typeof total === 'string' ? [[metric, String(total)]] : [],
    ),
  );
}
