/** Requests a report and follows its pages, so that the rest of ripen sees one answer. */

import { Failure } from '../errors.ts';
import { expectJson, saveBody, type SavedBody } from './body.ts';
import type { Channel, Reader } from './call.ts';
import { encodeQuery, withParameter } from './exchange.ts';
import { holdsAllRows, MAX_PAGES, nextTarget } from './paging.ts';

export interface PageHead {
  readonly rows: number;
  /** Two pages of one report never begin with the same rows, nor are two of them empty. */
  readonly rowsDigest: string;
  readonly pagination: unknown;
}

export interface ReportRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly pathFor: () => string;
  readonly readPage: (page: SavedBody) => Promise<PageHead>;
  /** Whether failures count as those of a service that is down. */
  readonly isCounted?: boolean;
}

export interface SavedReport {
  /** None if there was no content (204). */
  readonly pages: readonly SavedBody[];
  readonly unfollowed: string | null;
  readonly requests: number;
}

/** Of a request for a further page without content or rows. */
const MAX_REPEATS = 2;

/** Does not retry 504, 524 and the deadline: the caller requests less. */
export async function requestReport(
  channel: Channel,
  { parameters, pathFor, readPage, isCounted = true }: ReportRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<SavedReport> {
  const pages: SavedBody[] = [];
  let requests = 0;
  const request = async (target: string) => {
    const saveAs = pathFor();
    const read: Reader<SavedBody | null> = async (answer, verdict) => {
      if (verdict === 'empty') return null;
      await expectJson(answer);
      return saveBody(answer, saveAs, maxBytes);
    };
    requests += 1;
    // The default is human or local dates (observed: format_dates), even if the service names the address.
    const plain = withParameter(target, 'format_dates', 'false');
    return channel.request(plain, signal, read, { triesWhenSlow: 1, isCounted });
  };
  const first = channel.targetOf('/reports-service/report') + encodeQuery(parameters);
  /** Addresses of pages, and digests of their first rows. */
  const seen = new Set([first]);
  const isNew = (text: string) => seen.size < seen.add(text).size;
  const saved = (unfollowed: string | null): SavedReport => ({ pages, unfollowed, requests });
  let rows = 0;
  let isComplete = false;
  for (let target = first; ;) {
    let page: SavedBody | null = null;
    let head: PageHead | null = null;
    for (let repeats = 0; repeats <= MAX_REPEATS; repeats += 1) {
      page = await request(target);
      head = page === null ? null : await readPage(page);
      // An earlier page named this one, so it should have rows, or at least lead on.
      const isBlank = head === null || (head.rows === 0 && (head.pagination ?? null) === null);
      if (!isBlank || isComplete || pages.length === 0) break;
    }
    if (page === null || head === null) {
      const isEnd = isComplete || pages.length === 0;
      return saved(isEnd ? null : `the next page ${target} had no content`);
    }
    const isRepeated = !isNew(head.rowsDigest);
    // Some services answer a page after the last with the last.
    if (isRepeated && isComplete) return saved(null);
    pages.push(page);
    rows += head.rows;
    if (isRepeated) return saved(`the next page ${target} repeated the rows of an earlier one`);
    isComplete = holdsAllRows(head.pagination, rows);
    let next: string | null;
    try {
      next = nextTarget(head.pagination, target, channel.origin, rows);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return saved(error.message);
    }
    if (next === null) return saved(null);
    if (!isNew(next) || pages.length >= MAX_PAGES)
      return saved(`the next page ${next} was named after ${pages.length} pages, in a loop`);
    target = next;
  }
}
