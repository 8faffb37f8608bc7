/**
 * Pages of a report, in every form that `pagination` might have: nothing is documented of it but that it may be null
 * (service-interface: Report response), so it follows the lists of the campaign API.
 */

import type { JsonDocument } from '../../../src/simulator/answer.ts';
import { rowsOf } from './mutations.ts';
import {
  encodeCursor,
  type LinkTo,
  type CursorPage,
  pageOf,
  pageRequestOf,
  pagingV1,
  pagingV2,
  START,
} from '../../../src/simulator/lists.ts';
import type { NextLink } from './next-link.ts';
import type { PagesQuirk } from './quirks.ts';

/** After every row there can be. */
const BEYOND = Number.MAX_SAFE_INTEGER;

/** The request for a page: where it was asked, and its place among all requests. */
interface PageAddress {
  readonly address: URL;
  readonly ordinal: number;
}

/** The page of a report that an address asks for, the totals as they were. */
export function pageOfReport(report: JsonDocument, quirk: PagesQuirk, request: PageAddress): JsonDocument {
  const rows = rowsOf(report).map((item, position) => ({ position, item }));
  const page = pageOf(rows, { after: positionAsked(quirk, request.address), before: null, limit: quirk.size });
  const linkTo: LinkTo = (parameter, cursor) => {
    const link = new URL(request.address);
    link.searchParams.set(parameter, cursor);
    return link.href;
  };
  const number = Number(request.address.searchParams.get('page') ?? '1');
  const stated = paginationOf(page, quirk, linkTo, number);
  const isLast = page.after === null;
  const goesOn = { to: 'beyond' } as const;
  const pagination =
    isLast && quirk.last === 'endless' ? misled(stated, goesOn, request, linkTo) : withEnd(stated, isLast, quirk.last);
  const { misleads } = quirk;
  return {
    ...report,
    rows: page.items,
    pagination: misleads === null ? pagination : misled(pagination, misleads, request, linkTo),
  };
}

function paginationOf(page: CursorPage<unknown>, { style }: PagesQuirk, linkTo: LinkTo, number: number): JsonDocument {
  if (style === 'v1') return pagingV1(page, linkTo);
  if (style === 'v2') return pagingV2(page, linkTo);
  if (style === 'cursor') return { next: page.after };
  return { page: number, next: page.after === null ? null : number + 1 };
}

/** The row before the page; page numbers count from 1. */
function positionAsked({ style, size }: PagesQuirk, { searchParams }: URL): number | null {
  if (style === 'number') return (Number(searchParams.get('page') ?? '1') - 1) * size - 1;
  const wanted = pageRequestOf(new URLSearchParams([...searchParams].filter(([name]) => name !== 'limit')));
  return typeof wanted === 'string' ? null : wanted.after;
}

function withEnd(pagination: JsonDocument, isLast: boolean, last: PagesQuirk['last']): JsonDocument {
  if (!isLast || last === 'null') return pagination;
  const { next: _, ...rest } = pagination;
  return last === 'absent' ? rest : { ...rest, next: '' };
}

/** The same pagination with a `next` that leads astray, as an address or as a cursor, whichever it was. */
function misled(
  pagination: JsonDocument,
  link: NextLink | { readonly to: 'beyond' },
  { address, ordinal }: PageAddress,
  linkTo: LinkTo,
): JsonDocument {
  if (link.to === 'other_origin') {
    return { ...pagination, next: new URL(`${address.pathname}${address.search}`, link.origin).href };
  }
  const position = link.to === 'beyond' ? BEYOND : START;
  const cursor = encodeCursor(position, link.to === 'endless' || link.to === 'beyond' ? ordinal : 0);
  const isAddress = 'cursors' in pagination || 'cursor' in pagination;
  return { ...pagination, next: isAddress ? linkTo('after', cursor) : cursor };
}
