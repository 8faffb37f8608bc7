/** The pages of a report, followed to their end, or why they could not be; and a page read as the report it is. */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

import * as z from 'zod';

import { asFailure, type FailureCode } from '../errors.ts';
import type { Window } from '../model/window.ts';
import { parseJson } from '../service/body.ts';
import { nextPageOf, type ReportPage, type SavedBody, type Service } from '../service/service.ts';
import { type BesideRows, besideRowsOf } from '../spool/beside-rows.ts';
import { onDisk, type Spool, type SpooledPages } from '../spool/spool.ts';

export interface Paging {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor'>;
  readonly signal: AbortSignal;
}

/** More than any report has; a loop has as many as it likes. */
const MAX_PAGES = 10_000;

/** Every page of a report; at a page that leads elsewhere, repeats an earlier one or cannot be read it ends, and says so. */
export async function fetchPages(
  window: Window,
  parameters: Readonly<Record<string, string>>,
  { service, spool, signal }: Paging,
): Promise<SpooledPages> {
  const pages: SavedBody[] = [];
  /** Addresses, cursors and beginnings of rows, none of which occurs twice unless the pages are a loop. */
  const seen = new Set<string>();
  const isSeen = (text: string): boolean => seen.size === seen.add(text).size;
  let page: ReportPage | null = null;
  try {
    for (;;) {
      const path = spool.pathFor(window);
      const saved: SavedBody | null = await service.report(parameters, path, signal, page ?? undefined);
      if (saved === null) return { pages, unfollowed: page === null ? null : `${wordsFor(page)} had no content` };
      pages.push(saved);
      const isRepeated = isSeen(saved.rowsDigest ?? path);
      if (isRepeated) return { pages, unfollowed: `${wordsFor(page)} repeated the rows of an earlier one` };
      page = nextPageOf(saved.pagination ?? null);
      if (page === null) return { pages, unfollowed: null };
      if (isSeen(wordsFor(page)) || pages.length >= MAX_PAGES) {
        return { pages, unfollowed: `${wordsFor(page)} was named after ${pages.length} pages, in a loop` };
      }
    }
  } catch (error) {
    const failure = asFailure(error);
    if (pages.length === 0 || !endsPaging.has(failure.code)) throw failure;
    return { pages, unfollowed: failure.message };
  }
}

/** What the wire throws for a page on another origin, and for a pagination of no known form. */
const endsPaging: ReadonlySet<FailureCode> = new Set<FailureCode>(['DATA_MALFORMED', 'SOURCE_ENDLESS_PAGES']);

function wordsFor(page: ReportPage | null): string {
  if (page === null) return 'the first page';
  return `the next page ${page.kind === 'address' ? page.address : `${page.name}=${page.value}`}`;
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
