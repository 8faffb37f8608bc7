/** Requests a report and follows its pages to the end, so that the rest of ripen sees one answer. */

import { expectJson, saveBody, type SavedBody } from './body.ts';
import type { Channel, Reader } from './call.ts';
import { encodeQuery, withParameter } from './exchange.ts';
import { PageTrail, type PageHead } from './paging.ts';

export interface ReportRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly pathFor: () => string;
  /** Reads a saved page, which shows where the next one is. */
  readonly readPage: (page: SavedBody) => Promise<PageHead>;
}

/** Everything that the service answered to one request. */
export interface SavedReport {
  /** In order; empty if there was no content (204). */
  readonly pages: readonly SavedBody[];
  /** Why further pages could not be followed, as a clause. */
  readonly unfollowed: string | null;
  readonly requests: number;
}

/** How often a further page without content or rows is requested again. */
const MAX_REPEATS = 2;

/** Requests a report, see `Service.report`. 504, 524 and the deadline are not retried: the caller requests less. */
export async function requestReport(
  channel: Channel,
  { parameters, pathFor, readPage, maxBytes }: ReportRequest & { readonly maxBytes: number },
  signal: AbortSignal,
): Promise<SavedReport> {
  const pages: SavedBody[] = [];
  let requests = 0;
  const request = async (target: string): Promise<SavedBody | null> => {
    const saveAs = pathFor();
    const read: Reader<SavedBody | null> = async (answer, verdict) => {
      if (verdict === 'empty') return null;
      await expectJson(answer);
      return saveBody(answer, saveAs, maxBytes);
    };
    requests += 1;
    // The default is human or local dates (observed: format_dates), even if the service names the address.
    return channel.get(withParameter(target, 'format_dates', 'false'), signal, read, 1);
  };
  const first = channel.targetOf('/reports-service/report') + encodeQuery(parameters);
  const trail = new PageTrail(first, channel.origin);
  let target: string | null = first;
  while (target !== null) {
    let page: SavedBody | null = null;
    let head: PageHead | null = null;
    for (let repeats = 0; repeats <= MAX_REPEATS; repeats += 1) {
      page = await request(target);
      head = page === null ? null : await readPage(page);
      // An earlier page named this one, so that it should have rows, or at least lead on.
      const isBlank = head === null || (head.rows === 0 && (head.pagination ?? null) === null);
      if (!isBlank || pages.length === 0) break;
    }
    if (page === null || head === null) {
      const unfollowed = pages.length === 0 ? null : `the next page ${target} had no content`;
      return { pages, unfollowed, requests };
    }
    pages.push(page);
    const next = trail.after(head, target);
    if (next !== null && 'unfollowed' in next) return { pages, ...next, requests };
    target = next?.target ?? null;
  }
  return { pages, unfollowed: null, requests };
}
