/** The pages of a report, followed to their end, or why they could not be; and a page read as the report it is. */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import * as z from 'zod';

import type { Window } from '../model/window.ts';
import { parseJson } from '../service/body.ts';
import { MAX_PAGES } from '../service/paging.ts';
import type { SavedBody, Service } from '../service/service.ts';
import { type BesideRows, besideRowsOf } from '../spool/beside-rows.ts';
import { onDisk, type Spool, type SpooledPages } from '../spool/spool.ts';

export interface Paging {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'keep'>;
  readonly signal: AbortSignal;
}

/** Every page of a report; at a page that leads elsewhere, repeats an earlier one or cannot be read it ends, and says so. */
export async function fetchPages(
  window: Window,
  parameters: Readonly<Record<string, string>>,
  { service, spool, signal }: Paging,
): Promise<SpooledPages> {
  const pages: SavedBody[] = [];
  /** Pages and beginnings of rows, none of which occurs twice unless the pages are a loop. */
  const seen = new Set<string>();
  const isSeen = (text: string): boolean => seen.size === seen.add(text).size;
  for (let page: string | undefined; ;) {
    const path = spool.pathFor(window);
    const saved: SavedBody | null = await service.report(parameters, path, signal, page);
    if (saved === null)
      return { pages, unfollowed: page === undefined ? null : `the next page ${page} had no content` };
    pages.push(await spool.keep(saved));
    const isRepeated = isSeen(saved.rowsDigest ?? path);
    if (isRepeated) return { pages, unfollowed: `the next page ${page} repeated the rows of an earlier one` };
    page = saved.nextPage ?? undefined;
    if (page === undefined) return { pages, unfollowed: saved.unfollowed ?? null };
    if (isSeen(page) || pages.length >= MAX_PAGES) {
      return { pages, unfollowed: `the next page ${page} was named after ${pages.length} pages, in a loop` };
    }
  }
}

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

/** What a body of few rows says; nothing where it is another document. Throws a SyntaxError where it is none, and `STORAGE_FAILED`. */
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

/** Numbers and texts as texts; what is neither states nothing. */
function textsIn(totals: Readonly<Record<string, unknown>>): Map<string, string> {
  return new Map(
    Object.entries(totals).flatMap(([metric, total]): [string, string][] =>
      typeof total === 'number' || typeof total === 'string' ? [[metric, String(total)]] : [],
    ),
  );
}
