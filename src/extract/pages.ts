/** The pages of a report, followed to their end; or why they could not be. */

import { createHash } from 'node:crypto';

import { asFailure, type FailureCode } from '../errors.ts';
import type { Window } from '../model/window.ts';
import { MAX_EMPTY_PAGES, nextPageOf, type ReportPage, type SavedBody, type Service } from '../service/service.ts';
import type { Spool } from '../spool/spool.ts';
import { rowsText } from './saved-report.ts';
import type { Pages } from './whole.ts';

export interface Paging {
  readonly service: Pick<Service, 'report'>;
  readonly spool: Pick<Spool, 'pathFor' | 'keep'>;
  readonly signal: AbortSignal;
}

/** More than any report has; a loop has as many as it likes. */
const MAX_PAGES = 10_000;

/**
 * Every page of a report, up to a last one or to several without rows. Pages that cannot be followed, lead elsewhere, lead in a
 * circle or repeat rows of an earlier page end it too: whether the rows that came are all there are is then for the proof to say.
 */
export async function fetchPages(
  window: Window,
  parameters: Readonly<Record<string, string>>,
  { service, spool, signal }: Paging,
): Promise<Pages> {
  const pages: SavedBody[] = [];
  const asked = new Set<string>();
  const seenRows = new Set<string>();
  let unfollowed: string | null = null;
  let page: ReportPage | null = null;
  let empty = 0;
  do {
    const saved = await askPage(page, async () =>
      service.report(parameters, spool.pathFor(window), signal, page ?? undefined),
    );
    if (saved !== null && 'because' in saved) {
      unfollowed = saved.because;
      break;
    }
    if (saved === null) {
      if (page !== null) unfollowed = `its page ${pages.length + 1} was answered without content`;
      break;
    }
    const kept = await spool.keep(saved);
    const next = nextOf(saved);
    // Most reports have one page, which need not be read for this.
    const rows = page === null && next === null ? '' : await rowsText(kept);
    if (rows !== '' && seenRows.has(digestOf(rows))) {
      unfollowed = `its page ${pages.length + 1} repeated the rows of an earlier one, at ${addressOf(page)}`;
      break;
    }
    seenRows.add(digestOf(rows));
    pages.push(kept);
    if (next === null) break;
    if ('because' in next) {
      unfollowed = next.because;
      break;
    }
    page = next;
    const key = JSON.stringify(page);
    if (asked.has(key) || asked.size >= MAX_PAGES) unfollowed = `its pages did not end after ${pages.length}`;
    empty = rows === '' ? empty + 1 : 0;
    if (empty >= MAX_EMPTY_PAGES) break;
    asked.add(key);
  } while (unfollowed === null);
  return { pages, unfollowed };
}

/** How a service answers for a page that it named and does not have. */
const lostPage: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'SOURCE_ENDLESS_PAGES',
  'SOURCE_MISSING',
  'SOURCE_REFUSED',
]);

/** A page, or why it could not be followed; the first one is no page that is followed. */
async function askPage(
  page: ReportPage | null,
  ask: () => Promise<SavedBody | null>,
): Promise<SavedBody | { readonly because: string } | null> {
  try {
    return await ask();
  } catch (error) {
    const failure = asFailure(error);
    if (page === null || !lostPage.has(failure.code)) throw failure;
    return { because: failure.message };
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64');

const addressOf = (page: ReportPage | null): string =>
  page === null ? 'the first page' : page.kind === 'address' ? page.address : `${page.name}=${page.value}`;

/** Where an answer goes on, if it does, or why that cannot be read. */
function nextOf({ pagination }: SavedBody): ReportPage | { readonly because: string } | null {
  try {
    return nextPageOf(pagination ?? null);
  } catch (error) {
    return { because: asFailure(error).message };
  }
}
