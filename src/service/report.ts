/**
 * A report: the question, its answer on disk, and what the answer says of a next page.
 *
 * The interface does not show a report's pagination that is not null, so every form that its lists use is read. What says that
 * there is no next page is told from what cannot be read, which throws: rows would be missing without a word.
 */

import { z } from 'zod';

import { Failure } from '../errors.ts';
import { expectJson, saveBody, type SavedBody } from './body.ts';
import type { Channel, Reader } from './call.ts';
import { encodeQuery } from './exchange.ts';
import { firstWords } from './setback.ts';
import { pageTarget } from './paging.ts';

type Query = Readonly<Record<string, string>>;

interface ReportQuestion {
  readonly parameters: Query;
  /** Null: the first page, which is mostly the only one. */
  readonly page: ReportPage | null;
  readonly saveAs: string;
  readonly maxBytes: number;
}

/**
 * Asks for a report and saves it; null for an empty one (204). Throws `SOURCE_TOO_HEAVY` for 504 and `SOURCE_TIMEOUT` for
 * a deadline that passed, at the first try: the caller asks for less.
 */
export async function askReport(
  channel: Channel,
  { parameters, page, saveAs, maxBytes }: ReportQuestion,
  signal: AbortSignal,
): Promise<SavedBody | null> {
  const target = reportTarget(channel, parameters, page);
  const read: Reader<SavedBody | null> = async (answer, verdict) => {
    if (verdict === 'empty') return null;
    await expectJson(answer);
    return saveBody(answer, saveAs, maxBytes, channel.secrets);
  };
  return channel.get(target, signal, read, 1);
}

/**
 * Path and query of a report, or of a page of it. Dates always come in ISO form. Throws `SOURCE_ENDLESS_PAGES` for an
 * address on another origin.
 */
function reportTarget(channel: Channel, parameters: Query, page: ReportPage | null): string {
  const path = channel.targetOf('/reports-service/report');
  if (page?.kind === 'address') return withIsoDates(pageTarget(page.address, path, channel.origin));
  return withIsoDates(path + encodeQuery(page === null ? parameters : { ...parameters, [page.name]: page.value }));
}

/** The target as it was written, but for the form of its dates: human or local unless told (observed: format_dates). */
function withIsoDates(target: string): string {
  const [path = '', ...query] = target.split('?');
  const pairs = query.join('?').split('&');
  const others = pairs.filter((pair) => pair !== '' && !new URLSearchParams(pair).has('format_dates'));
  return `${path}?${[...others, 'format_dates=false'].join('&')}`;
}

/** A report's next page: an address to follow, or the same question from a cursor on. */
export type ReportPage =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'cursor'; readonly name: 'cursor' | 'after'; readonly value: string };

/** A number that was rounded when it was parsed would lead elsewhere. What is blank names nothing. */
const position = z
  .union([z.string(), z.int().transform(String), z.literal(false).transform(() => '')])
  .nullish()
  .transform((stated) => (stated?.trim() === '' ? null : stated));
const number = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
  .nullish()
  .catch(null);
/** What is no flag says that there may be more. */
const flag = z.union([z.boolean(), z.stringbool()]).nullish().catch(true);
const paginationSchema = z.object({
  next: position,
  cursor: position,
  cursors: z.object({ after: position }).nullish(),
  page: number,
  current_page: number,
  total_pages: number,
  pages: number,
  last_page: number,
  has_more: flag,
  has_next: flag,
});
type Pagination = z.output<typeof paginationSchema>;

/** With a scheme or a host, from a directory on, or with a query; anything else is a cursor. */
const ADDRESS = /^(?:[a-z][a-z\d+.-]*:)?\/\/|^\.{0,2}\/|\?/i;

/**
 * The next page that the parsed `pagination` of a report names; null when it is the last. A `next` that is null or blank
 * names none, and neither does an empty cursor where there is no `next`; a number of pages or a flag beside it has to agree.
 * Throws `DATA_MALFORMED` for a pagination of another form, and for one that says there is a page and names none.
 */
export function nextPageOf(pagination: unknown): ReportPage | null {
  const isNothing = pagination === undefined || ['null', 'false', '[]'].includes(JSON.stringify(pagination));
  if (isNothing || (typeof pagination === 'string' && pagination.trim() === '')) return null;
  const { data } = paginationSchema.safeParse(pagination);
  const page = data === undefined ? null : namedPage(data);
  if (page === null && (data === undefined || !isLast(data, Object.keys(Object(pagination)))))
    throw unreadable(pagination);
  return page;
}

function namedPage({ next, cursor, cursors }: Pagination): ReportPage | null {
  if (next === null) return null;
  if (next !== undefined && ADDRESS.test(next)) return { kind: 'address', address: next };
  const after = cursors?.after ?? null;
  if (after !== null) return { kind: 'cursor', name: 'after', value: after };
  const value = next ?? cursor ?? null;
  return value === null ? null : { kind: 'cursor', name: 'cursor', value };
}

/** Whether a pagination that names no page says that there is none. */
function isLast(stated: Pagination, names: readonly string[]): boolean {
  const counts = [stated.total_pages, stated.pages, stated.last_page].filter((each) => typeof each === 'number');
  const flags = [stated.has_more, stated.has_next].filter((each) => typeof each === 'boolean');
  // A page 0 is the first one, as page 1 is elsewhere.
  const page = Math.max(1, stated.page ?? stated.current_page ?? 1);
  if (counts.length + flags.length > 0) return !flags.includes(true) && Math.max(0, ...counts) <= page;
  return names.length === 0 || ['next', 'cursor', 'cursors'].some((name) => names.includes(name));
}

function unreadable(pagination: unknown): Failure {
  const said = firstWords(JSON.stringify(pagination));
  return new Failure(
    'DATA_MALFORMED',
    `The pagination of a report named no next page and no end that is known: ${said}`,
    {
      facts: { said },
      hint: 'Narrow the slice until the service answers in one page, and report what it said.',
    },
  );
}
