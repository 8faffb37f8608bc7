/**
 * The wire, as the rest of ripen sees it.
 *
 * Hidden behind it: the connection pool, authentication, pacing (concurrency, start rate), the verdict on each answer,
 * retries with their run-wide budget and breaker, deadlines, byte caps, paging, and every form of error body. A call
 * either returns what the service completely said or throws one `Failure`.
 */

import type { Failure } from '../errors.ts';
import type { Catalog, CatalogFilter, CatalogSection } from '../model/catalog.ts';
import type { Link, Partner, StatedLink } from '../model/link.ts';
import type { SavedBody } from './body.ts';

export type { SavedBody } from './body.ts';

export interface FiltersDataRequest {
  readonly filters: readonly CatalogFilter[];
  readonly section?: CatalogSection;
}

export interface LinkChange {
  readonly partnerId?: string;
  readonly costDataEnabled?: boolean;
}

/** One ad spend line, every field under its own name as the text to send. */
export type SpendLine = Readonly<Record<'cost_type' | 'cost_currency' | 'cost_id' | 'cost_amount' | 'tag', string>>;

/** What became of a line: `unknown` when the request may have been received and no answer says what it led to. */
export type SpendOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'rejected'; readonly status: number; readonly reason: string }
  | {
      readonly outcome: 'unknown';
      readonly reason: string;
      /** What every other line would meet, too, where it is no matter of this one. */
      readonly failure?: Failure;
    };

export interface ServiceStatistics {
  /** Calls that were put on the wire, retries included. */
  readonly requests: number;
  readonly retries: number;
  /** Most report and filters-data calls in flight at once. */
  readonly peakConcurrency: number;
  /** Bytes received, as they came. */
  readonly bytes: number;
  /** What the latest try met; null or left out if it was answered. */
  readonly lastSetback?: string | null;
}

/** Of a service that was asked nothing. */
export const noRequests: ServiceStatistics = { requests: 0, retries: 0, peakConcurrency: 0, bytes: 0 };

export interface Service {
  /**
   * Asks for a report with exactly these query parameters, or for the page that a saved one named, and saves the body,
   * undecoded, at a path (overwritten). Returns null for 204, the service's form of an empty report. Throws `SOURCE_TOO_HEAVY`
   * for 504 and `SOURCE_TIMEOUT` for a deadline that passed, after either of which a smaller question may succeed;
   * `DATA_MALFORMED` for a body that holds the credential.
   */
  report(
    parameters: Readonly<Record<string, string>>,
    saveAs: string,
    signal: AbortSignal,
    page?: string,
  ): Promise<SavedBody | null>;
  /**
   * Requests lists of filter items: every item that was listed, list by list in the order requested. What is no list, or refused by
   * name, has none. Throws `SOURCE_GARBLED` if no list was answered, `SOURCE_REFUSED` if all were refused.
   */
  filtersData(request: FiltersDataRequest, signal: AbortSignal): Promise<Catalog>;
  /** Pages of the partner list, each non-empty. */
  partners(signal: AbortSignal): AsyncGenerator<readonly Partner[], void>;
  /** Pages of an app's network links, or with `parent` of that link's sub-links; the same. v2 first, v1 where v2 is absent; `SOURCE_MISSING` where neither knows them. */
  links(appToken: string, parent: string | null, signal: AbortSignal): AsyncGenerator<readonly Link[], void>;
  /** Creates a link, or with `parent` a sub-link. Never repeated where it may have had an effect: an unknown outcome is a `SOURCE_UNAVAILABLE` whose facts hold `outcome: 'unknown'`. */
  createLink(appToken: string, name: string, parent: string | null, signal: AbortSignal): Promise<Link>;
  /**
   * Updates a link and returns what the answer states of it, which may not be what was asked for. An answer about another link is
   * `SOURCE_GARBLED`.
   */
  updateLink(appToken: string, token: string, change: LinkChange, signal: AbortSignal): Promise<StatedLink>;
  /** Submits a line; what it throws says that the line was certainly not accepted. */
  submitSpend(line: SpendLine, signal: AbortSignal): Promise<SpendOutcome>;
  statistics(): ServiceStatistics;
  /** The service's clock minus this machine's, from the `Date` header of the newest answer; null before the first. */
  clockSkewMs(): number | null;
  close(): Promise<void>;
}
