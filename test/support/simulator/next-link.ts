/** A next link of a list that leads astray. */

import { isDocument, type JsonDocument } from '../../../src/simulator/answer.ts';
import { encodeCursor, START } from '../../../src/simulator/lists.ts';

export type NextLink =
  /** Points at the same page on another origin. */
  | { readonly to: 'other_origin'; readonly origin: string }
  /** Points back to the first page, always by the same cursor. */
  | { readonly to: 'start' }
  /** Points back to the first page by a cursor never seen before. */
  | { readonly to: 'endless' };

/** The same list answer with another next link; any other document is returned as it is. Pure. */
export function withNextLink(document: JsonDocument, link: NextLink, address: URL, ordinal: number): JsonDocument {
  const answered = document['data'];
  if (!isDocument(answered) || !isDocument(answered['paging'])) return document;
  const paging = answered['paging'];
  const cursor = encodeCursor(START, link.to === 'endless' ? ordinal : 0);
  const next = new URL(`${address.origin}${address.pathname}`);
  if (link.to === 'other_origin') {
    const asked = typeof paging['next'] === 'string' && paging['next'] !== '' ? new URL(paging['next']) : next;
    const elsewhere = new URL(`${asked.pathname}${asked.search}`, link.origin).href;
    return { ...document, data: { ...answered, paging: { ...paging, next: elsewhere } } };
  }
  next.search = new URLSearchParams({ after: cursor, limit: address.searchParams.get('limit') ?? '50' }).toString();
  const style = isDocument(paging['cursors']) ? { cursors: { ...paging['cursors'], after: cursor } } : { cursor };
  return { ...document, data: { ...answered, paging: { ...paging, ...style, next: next.href } } };
}
