/**
 * The pages of a list until its end, whichever way the service pages.
 *
 * Of a `next` link only path and query are used, and only when it points to the origin asked: a token must not leave
 * it. A short or empty page is not the last one; the end is a `next` that is null or empty, or no `next` and no cursor. (observed:
 * Campaign API.)
 */

import { z } from 'zod';

import { Failure } from '../errors.ts';
import { originWords } from './setback.ts';

/** Half a million items of the default page size: no account has as many, a loop has. */
const MAX_PAGES = 10_000;

const cursor = z.union([z.string(), z.number().transform(String)]).nullish();

/** A paging object in v1 or v2 style. */
export const pagingSchema = z.object({ next: cursor, cursors: z.object({ after: cursor }).nullish() }).nullish();

export type ListPaging = z.output<typeof pagingSchema>;

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly paging: ListPaging;
  /** Path and query it was answered at, where that is not what was asked; the next page is named from there. */
  readonly target?: string;
}

export interface Paged<T> {
  readonly origin: string;
  /** Path and query of the first page. */
  readonly first: string;
  readonly ask: (target: string) => Promise<ListPage<T>>;
  readonly maxPages?: number;
}

/** The items page by page, each page non-empty. Throws `SOURCE_ENDLESS_PAGES` for links that repeat, lead elsewhere or do not end. */
export async function* pages<T>({
  origin,
  first,
  ask,
  maxPages = MAX_PAGES,
}: Paged<T>): AsyncGenerator<readonly T[], void> {
  const asked = new Set<string>();
  for (let next: string | null = first; next !== null;) {
    asked.add(next);
    const { items, paging, target = next }: ListPage<T> = await ask(next);
    if (items.length > 0) yield items;
    next = nextTarget(paging, target, origin);
    if (next === null) return;
    const problem = asked.has(next)
      ? `repeated after ${asked.size} pages`
      : asked.size >= maxPages
        ? `did not end within ${maxPages} pages`
        : null;
    if (problem === null) continue;
    throw new Failure('SOURCE_ENDLESS_PAGES', `The pages of ${pathOf(first)} ${problem}`, {
      facts: { pages: asked.size },
      hint: 'Run again later, and report it to the operator of the service if it stays.',
    });
  }
}

/** Path and query of the next page; null at the end. */
function nextTarget(paging: ListPaging, target: string, origin: string): string | null {
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
function cursorTarget(paging: ListPaging, target: string, origin: string): string | null {
  const after = paging?.cursors?.after ?? '';
  if (after === '') return null;
  const url = new URL(target, origin);
  url.searchParams.set('after', after);
  return url.pathname + url.search;
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? target;
}
