/**
 * The wire, as the rest of ripen sees it.
 *
 * Hides the connection pool, authentication, pacing (concurrency, start rate), the verdict on each answer, retries with their
 * run-wide budget and breaker, deadlines, byte caps, paging, and every form of error body. A call either returns the complete
 * answer of the service or throws one `Failure`.
 */

import type { Failure } from '../errors.ts';
import type { Catalog, CatalogFilter, CatalogSection } from '../model/catalog.ts';
import type { Link, Partner, StatedLink } from '../model/link.ts';
import type { ReportRequest, SavedReport } from './report.ts';

export type { SavedBody } from './body.ts';
export type { PageHead, SavedReport } from './report.ts';

export interface FiltersDataRequest {
  readonly filters: readonly CatalogFilter[];
  readonly section?: CatalogSection;
}

export interface LinkChange {
  readonly partnerId?: string;
  readonly costDataEnabled?: boolean;
}

/** One ad spend line: every field by its own name, as the text to send. */
export type SpendLine = Readonly<
  Record<'cost_type' | 'cost_currency' | 'cost_id' | 'cost_amount' | 'tag', string>
>;

/** `unknown` if the request may have been received and no answer states its effect. */
export type SpendOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'rejected'; readonly status: number; readonly reason: string }
  | {
      readonly outcome: 'unknown';
      readonly reason: string;
      /** The failure that every other line would meet, too. */
      readonly failure?: Failure;
    };

export interface ServiceStatistics {
  /** Requests that were sent, retries included. */
  readonly requests: number;
  readonly retries: number;
  /** Most report and filters-data calls in flight at once. */
  readonly peakConcurrency: number;
  /** Bytes received, before decoding. */
  readonly bytes: number;
  /** Of the latest try, if it was not answered. */
  readonly lastSetback?: string | null;
}

export const noRequests: ServiceStatistics = {
  requests: 0,
  retries: 0,
  peakConcurrency: 0,
  bytes: 0,
};

export interface Service {
  /**
   * Requests a report with these query parameters and `format_dates=false`, and every page that it leads to. Saves the bodies
   * undecoded. Throws `SOURCE_TOO_HEAVY` for 504 and 524, and `SOURCE_TIMEOUT` after the deadline. A smaller request may then
   * succeed.
   */
  report(request: ReportRequest, signal: AbortSignal): Promise<SavedReport>;
  /**
   * Requests lists of filter items and returns every item with an id, list by list in the order requested. Skips what is no
   * list or is refused by name. Throws `SOURCE_GARBLED` if an answer has no list, and `SOURCE_REFUSED` if all are refused.
   */
  filtersData(request: FiltersDataRequest, signal: AbortSignal): Promise<Catalog>;
  /** Pages of the partner list, each non-empty. */
  partners(signal: AbortSignal): AsyncGenerator<readonly Partner[], void>;
  /** Pages of an app's networks or of a link's sub-links, each non-empty. Throws `SOURCE_MISSING` if v2 and v1 are absent. */
  links(
    appToken: string,
    parent: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Link[], void>;
  /** Creates a link or sub-link, never twice: an unknown outcome is `SOURCE_UNAVAILABLE` with the fact `outcome: 'unknown'`. */
  createLink(
    appToken: string,
    name: string,
    parent: string | null,
    signal: AbortSignal,
  ): Promise<Link>;
  /** Updates a link and returns what the answer states, which may differ from the change. `SOURCE_GARBLED` for another link. */
  updateLink(
    appToken: string,
    token: string,
    change: LinkChange,
    signal: AbortSignal,
  ): Promise<StatedLink>;
  /** Submits a line. If it throws, the line was certainly not accepted. */
  submitSpend(line: SpendLine, signal: AbortSignal): Promise<SpendOutcome>;
  statistics(): ServiceStatistics;
  /** The service's clock minus this machine's, from the `Date` header of the newest answer. */
  clockSkewMs(): number | null;
  close(): Promise<void>;
}
