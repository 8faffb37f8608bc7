/**
 * The pages of a list until its end, whichever way the service pages.
 *
 * Of a `next` link only path and query are used, and only when it points to the origin asked: a token must not leave
 * it. A short or empty page is not the last one; the end is a `next` that is null or empty, or no `next` and no cursor. (observed:
 * Campaign API.) Where fewer items came by then than there are, a list may still be gone on with by its cursor
 * (service-interface: partners).
 */

import { z } from 'zod';

import { Failure, type FailureCode } from '../errors.ts';
import { originWords } from './setback.ts';

/** Half a million items of the default page size: no account has as many, a loop has. */
const MAX_PAGES = 10_000;
/** A list may leave a page without items and go on; one that leaves so many in a row names a next page for ever. */
const MAX_EMPTY_PAGES = 10;

const cursor = z.union([z.string(), z.number().transform(String)]).nullish();

/** A paging object in v1 or v2 style. */
export const pagingSchema = z
  .object({ next: cursor, cursors: z.object({ after: cursor }).nullish(), total: cursor.catch(null) })
  .nullish();

export type Paging = z.output<typeof pagingSchema>;

export interface Page<T> {
  readonly items: readonly T[];
  readonly paging: Paging;
  /** Path and query it was answered at, where that is not what was asked; the next page is named from there. */
  readonly target?: string;
}

/** What a list has, and how many items its pages said there are. */
export interface ShortList {
  readonly listed: number;
  readonly stated: number;
}

export interface Paged<T> {
  readonly origin: string;
  /** Path and query of the first page. */
  readonly first: string;
  readonly ask: (target: string) => Promise<Page<T>>;
  /** What an item is known again by, as one may be listed on two pages. */
  readonly keyOf: (item: T) => string;
  readonly maxPages?: number;
  /** Called at the end of a list with fewer items than its pages said there are. */
  readonly onShort?: (list: ShortList) => void;
}

/** What a page that no other one named may be answered with where there is none: the list has ended. */
const saysNone: ReadonlySet<FailureCode> = new Set([
  'ACCESS_FORBIDDEN',
  'SOURCE_GARBLED',
  'SOURCE_MISSING',
  'SOURCE_REDIRECTED',
  'SOURCE_REFUSED',
  'SOURCE_UNAVAILABLE',
]);

/** The items page by page, each page non-empty. Throws `SOURCE_ENDLESS_PAGES` for links that repeat, lead elsewhere or do not end. */
export async function* pages<T>({
  origin,
  first,
  ask,
  keyOf,
  maxPages = MAX_PAGES,
  onShort = () => {},
}: Paged<T>): AsyncGenerator<readonly T[], void> {
  const asked = new Set<string>();
  const listed = new Set<string>();
  let [stated, empty] = [0, 0];
  let target: string | null = first;
  let isNamed = true;
  while (target !== null) {
    asked.add(target);
    const page: Page<T> | null = isNamed ? await ask(target) : await ask(target).catch(noneThere);
    if (page === null) break;
    const { items, paging }: Page<T> = page;
    const answeredAt: string = page.target ?? target;
    const before = listed.size;
    for (const item of items) listed.add(keyOf(item));
    // A service that takes no cursor answers with a page that was there before.
    if (!isNamed && listed.size === before) break;
    stated = Math.max(stated, Number(paging?.total ?? 0) || 0);
    empty = items.length > 0 ? 0 : empty + 1;
    if (items.length > 0) yield items;
    // As many as the list said there are: there is nothing to go on for.
    if (empty >= MAX_EMPTY_PAGES && stated > 0 && listed.size >= stated) return;
    const named: string | null = nextTarget(paging, answeredAt, origin);
    const further: string | null =
      items.length > 0 && listed.size < stated ? cursorTarget(paging, answeredAt, origin) : null;
    isNamed = named !== null;
    if (named === null) {
      target = further === null || asked.has(further) || asked.size >= maxPages ? null : further;
      continue;
    }
    if (asked.has(named)) {
      throw endless(`The pages of ${pathOf(first)} repeated after ${asked.size} pages`, asked.size);
    }
    if (empty >= MAX_EMPTY_PAGES) {
      throw endless(`${empty} pages of ${pathOf(first)} in a row had no items and named a next one`, asked.size);
    }
    if (asked.size >= maxPages) {
      throw endless(`The pages of ${pathOf(first)} did not end within ${maxPages} pages`, asked.size);
    }
    target = named;
  }
  if (listed.size < stated) onShort({ listed: listed.size, stated });
}

function noneThere(error: unknown): null {
  if (error instanceof Failure && saysNone.has(error.code)) return null;
  throw error;
}

/** Path and query of the next page; null at the end. */
function nextTarget(paging: Paging, target: string, origin: string): string | null {
  const next = paging?.next;
  if (next === undefined) return cursorTarget(paging, target, origin);
  return next === null || next.trim() === '' ? null : pageTarget(next, target, origin);
}

/**
 * Path and query of an address that a page at `target` named; throws `SOURCE_ENDLESS_PAGES` unless it is on the origin
 * asked.
 */
export function pageTarget(next: string, target: string, origin: string): string {
  const base = new URL(target, origin).href;
  const url = URL.canParse(next, base) ? new URL(next, base) : null;
  if (url?.origin !== origin) {
    const elsewhere = url === null ? 'no address' : originWords(url);
    throw new Failure('SOURCE_ENDLESS_PAGES', `A page of ${pathOf(target)} led to ${elsewhere} instead of ${origin}`, {
      facts: { endpoint: pathOf(target), origin, elsewhere },
      hint: 'Configure the address under which the service names its pages.',
    });
  }
  return url.pathname + url.search;
}

/** A list that names no next link may still name the cursor to go on from (service-interface: partners). */
function cursorTarget(paging: Paging, target: string, origin: string): string | null {
  const after = paging?.cursors?.after ?? '';
  if (after === '') return null;
  const url = new URL(target, origin);
  url.searchParams.set('after', after);
  return url.pathname + url.search;
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? target;
}

function endless(message: string, count: number): Failure {
  return new Failure('SOURCE_ENDLESS_PAGES', message, {
    facts: { pages: count },
    hint: 'Run again later, and report it to the operator of the service if it stays.',
  });
}
