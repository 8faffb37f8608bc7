/** The pages of a report, followed to their end, or why they could not be; and a page read as the report it is. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';

import * as z from 'zod';

import { asFailure, type FailureCode } from '../errors.ts';
import type { Window } from '../model/window.ts';
import { parseJson } from '../service/body.ts';
import { nextPageOf, type ReportPage, type SavedBody, type Service } from '../service/service.ts';
import { type BesideRows, besideRowsOf } from '../spool/beside-rows.ts';
import { onDisk, type Spool, type SpooledPages } from '../spool/spool.ts';

export interface Paging {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'keep'>;
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
  const [requested, seenRows] = [new Set<string>(), new Set<string>()];
  let page: ReportPage | null = null;
  try {
    for (;;) {
      const saved: SavedBody | null = await service.report(
        parameters,
        spool.pathFor(window),
        signal,
        page ?? undefined,
      );
      if (saved === null) return { pages, unfollowed: page === null ? null : `${wordsFor(page)} had no content` };
      pages.push(await spool.keep(saved));
      const next = nextPageOf(saved.pagination ?? null);
      // Most reports have one page, whose rows need not be read for this.
      if (page === null && next === null) return { pages, unfollowed: null };
      const rows = await digestOfRows(pages.at(-1) ?? saved);
      if (seenRows.has(rows)) return { pages, unfollowed: `${wordsFor(page)} repeated the rows of an earlier one` };
      if (next === null) return { pages, unfollowed: null };
      seenRows.add(rows);
      page = next;
      const isLoop = requested.has(wordsFor(page)) || requested.size >= MAX_PAGES;
      if (isLoop) return { pages, unfollowed: `${wordsFor(page)} was named after ${pages.length} pages, in a loop` };
      requested.add(wordsFor(page));
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

/** Two pages of one report never begin with the same rows: of a longer body its beginning tells. */
const HEAD_BYTES = 65_536;

/** What the rows of a page are known again by. A body that is no document is found to be none when it is loaded. */
async function digestOfRows(saved: SavedBody): Promise<string> {
  const text = saved.plainBytes > HEAD_BYTES ? await headOf(saved) : JSON.stringify(await rowsOf(saved));
  return createHash('sha256').update(text).digest('base64');
}

async function rowsOf(saved: SavedBody): Promise<unknown> {
  try {
    return (await readReport(saved)).rows;
  } catch (error) {
    if (error instanceof SyntaxError) return saved.path;
    throw error;
  }
}

async function headOf({ path, encoding }: SavedBody): Promise<string> {
  return onDisk('spool', path, async () => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const file = createReadStream(path);
    for await (const chunk of encoding === 'gzip' ? file.pipe(createGunzip()) : file) {
      if (!Buffer.isBuffer(chunk)) continue;
      parts.push(chunk);
      bytes += chunk.length;
      if (bytes >= HEAD_BYTES) break;
    }
    file.destroy();
    const head = Buffer.concat(parts).subarray(0, HEAD_BYTES).toString('latin1');
    return head.slice(Math.max(0, head.indexOf('"rows"')));
  });
}
