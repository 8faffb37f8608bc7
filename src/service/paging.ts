/**
 * Finds the next page that an answer names, and follows a list to its end. Only path and query of a link to the requested
 * origin are used: a token must not leave it. A short or empty page is not the last one (observed: Campaign API).
 */

import { createHash } from 'node:crypto';

import { z } from 'zod';

import { Failure } from '../errors.ts';
import { pathOf, withParameter } from './exchange.ts';
import { firstWords, originWords } from './error-words.ts';

/** Half a million items of the default page size: more than any account has. */
export const MAX_PAGES = 10_000;

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly paging: unknown;
  /** The path and query that answered, if not the requested ones. */
  readonly target?: string;
}

/**
 * Yields pages with items. Reads the list once more if a page repeats some items of an earlier one: the list changed meanwhile.
 * Throws `SOURCE_UNAVAILABLE` if it does so again, and `SOURCE_ENDLESS_PAGES` if addresses or whole pages repeat, or the pages do
 * not end.
 */
export async function* pages<T>(
  origin: string,
  first: string,
  readPage: (target: string) => Promise<ListPage<T>>,
): AsyncGenerator<readonly T[], void> {
  /** Addresses of pages, and their items, in this reading of the list. */
  const seen = new Set([first]);
  const isNew = (text: string) => seen.size < seen.add(text).size;
  const yielded = new Set<string>();
  let isReadAgain = false;
  let pageCount = 0;
  for (let next: string | null = first; next !== null;) {
    const { items, paging, target = next }: ListPage<T> = await readPage(next);
    pageCount += 1;
    let problem: string | null = null;
    const digests = items.map(digestOf);
    const distinct = new Set(digests);
    const repeated = [...distinct].filter((digest) => !isNew(digest)).length;
    // A list that moves between two pages may lack others, too.
    if (repeated > 0 && repeated < distinct.size) {
      const message = `The list ${pathOf(first)} changed twice while it was read`;
      const hint = 'Run again later. The stored list is kept.';
      if (isReadAgain) {
        throw new Failure('SOURCE_UNAVAILABLE', message, { facts: { pages: pageCount }, hint });
      }
      isReadAgain = true;
      seen.clear();
      seen.add(first);
      next = first;
      continue;
    }
    if (repeated > 0) problem = 'repeated items of an earlier page';
    else {
      const others = items.filter((_, at) => !yielded.has(digests[at] ?? ''));
      for (const digest of distinct) yielded.add(digest);
      if (others.length > 0) yield others;
      next = nextTarget(paging, target, origin);
      if (next === null) return;
      if (!isNew(next)) problem = `repeated after ${pageCount} pages`;
      else if (pageCount >= MAX_PAGES) problem = `did not end within ${MAX_PAGES} pages`;
    }
    if (problem === null) continue;
    throw new Failure('SOURCE_ENDLESS_PAGES', `The pages of ${pathOf(first)} ${problem}`, {
      facts: { pages: pageCount },
      hint: 'Run again later, and report it to the operator of the service if it persists.',
    });
  }
}

const digestOf = (item: unknown) =>
  createHash('sha256').update(JSON.stringify(item)).digest('base64');

/** Only exact integers: one that was rounded in parsing would lead to another page. Blank text names no page. */
const position = z
  .union([z.string(), z.int().transform(String), z.literal(false).transform(() => '')])
  .nullish()
  .transform((stated) => (stated?.trim() === '' ? null : stated));
const number = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
  .nullish()
  .catch(null);
const flag = z.union([z.boolean(), z.stringbool()]).nullish().catch(true);
const reportPagination = z.object({
  next: position,
  cursor: position,
  cursors: z.object({ after: position }).nullish(),
  page: number,
  current_page: number,
  total_pages: number,
  pages: number,
  last_page: number,
  page_size: number,
  per_page: number,
  total_rows: number,
  total: number,
  has_more: flag,
  has_next: flag,
});

const ADDRESS = /^(?:[a-z][a-z\d+.-]*:)?\/\/|^\.{0,2}\/|\?/i;

/**
 * Returns path and query of the page after the one at `target`, null after the last. `rows` are those so far. Throws
 * `SOURCE_ENDLESS_PAGES` for an address on another origin, and `DATA_MALFORMED` if neither a next page nor the end is stated.
 */
export function nextTarget(
  pagination: unknown,
  target: string,
  origin: string,
  rows = 0,
): string | null {
  const isNothing =
    pagination === undefined || ['null', 'false', '[]'].includes(JSON.stringify(pagination));
  if (isNothing || (typeof pagination === 'string' && pagination.trim() === '')) return null;
  const { data } = reportPagination.safeParse(pagination);
  const { next, cursor, cursors } = data ?? { next: null };
  if (typeof next === 'string' && ADDRESS.test(next)) {
    const base = new URL(target, origin).href;
    const url = URL.canParse(next, base) ? new URL(next, base) : null;
    if (url?.origin === origin) return url.pathname + url.search;
    const elsewhere = url === null ? 'no address' : originWords(url);
    const message = `A page of ${pathOf(target)} led to ${elsewhere} instead of ${origin}`;
    throw new Failure('SOURCE_ENDLESS_PAGES', message, {
      facts: { endpoint: pathOf(target), origin, elsewhere },
      hint: 'Configure the address under which the service names its pages.',
    });
  }
  const after = cursors?.after ?? null;
  if (next !== null && after !== null) return withParameter(target, 'after', after);
  const value = next === null ? null : (next ?? cursor ?? null);
  if (value !== null) return withParameter(target, 'cursor', value);
  if (data !== undefined && isLast(data, Object.keys(Object(pagination)), rows)) return null;
  const words = firstWords(JSON.stringify(pagination));
  // Else rows would be missing in silence.
  const message = `The pagination of ${pathOf(target)} named neither a next page nor a known end: ${words}`;
  throw new Failure('DATA_MALFORMED', message, {
    facts: { response: words },
    hint: 'Report it to the service. Until it is fixed, request less, so that the report fits one page.',
  });
}

export function holdsAllRows(pagination: unknown, rows: number): boolean {
  const { total_rows: total = null } = reportPagination.safeParse(pagination).data ?? {};
  return total !== null && rows > 0 && rows === total;
}

function isLast(stated: z.output<typeof reportPagination>, names: readonly string[], rows: number) {
  // A plain `total` may also count pages: only exactly as many rows show that it does not.
  const totalRows = stated.total_rows ?? (stated.total === rows ? rows : null);
  const pageRows = stated.page_size ?? stated.per_page ?? null;
  const hasSizes = totalRows !== null && pageRows !== null && pageRows > 0;
  const countedPages = hasSizes ? Math.ceil(totalRows / pageRows) : null;
  const statedPages = [stated.total_pages, stated.pages, stated.last_page, countedPages];
  const counts = statedPages.filter((count) => typeof count === 'number');
  const flags = [stated.has_more, stated.has_next].filter((flag) => typeof flag === 'boolean');
  if (flags.includes(true)) return false;
  if (totalRows !== null && rows >= totalRows) return true;
  // Page 0 counts as the first one, like page 1 elsewhere.
  const page = Math.max(1, stated.page ?? stated.current_page ?? 1);
  if (counts.length + flags.length > 0) return Math.max(0, ...counts) <= page;
  return names.length === 0 || ['next', 'cursor', 'cursors'].some((name) => names.includes(name));
}
