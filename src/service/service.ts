/** The wire, as the rest of ripen sees it. A call returns the complete answer or throws one `Failure`. */

import type { Failure } from '../errors.ts';
import type { Catalog, CatalogFilter, CatalogSection } from '../model/catalog.ts';
import type { Link, Partner, StatedLink } from '../model/link.ts';
import type { ReportRequest, SavedReport } from './report.ts';

export type { SavedBody } from './body.ts';
export type { PageHead, SavedReport } from './report.ts';

export interface FiltersDataRequest {
  readonly filters: readonly CatalogFilter[];
  readonly section?: CatalogSection;
  /** Called with each list that is left out. */
  readonly onRefused?: (filter: CatalogFilter, failure: Failure) => void;
}

export type SpendLine = Readonly<
  Record<'cost_type' | 'cost_currency' | 'cost_id' | 'cost_amount' | 'tag', string>
>;

export interface SpendOutcome {
  /** `unknown` if the request may have been received and no answer states its effect. */
  readonly outcome: 'accepted' | 'rejected' | 'unknown';
  readonly status?: number;
  readonly reason?: string;
  /** The failure that every other line would meet, too. */
  readonly failure?: Failure;
}

export interface ServiceStatistics {
  /** Retries included. */
  readonly requests: number;
  readonly retries: number;
  readonly peakConcurrency: number;
  /** Received, before decoding. */
  readonly bytes: number;
  /** Why the latest try was not answered. */
  readonly lastSetback?: string | null;
}

export const noRequests: ServiceStatistics = {
  requests: 0,
  retries: 0,
  peakConcurrency: 0,
  bytes: 0,
};

export interface Service {
  /** Saves every page undecoded. After `SOURCE_TOO_HEAVY` and `SOURCE_TIMEOUT` a smaller request may succeed. */
  report(request: ReportRequest, signal: AbortSignal): Promise<SavedReport>;
  /** Returns items in the order of the lists requested. Leaves out lists that are refused by name, unless all are. */
  filtersData(request: FiltersDataRequest, signal: AbortSignal): Promise<Catalog>;
  /** Yields pages with items, as `links` does. */
  partners(signal: AbortSignal): AsyncGenerator<readonly Partner[], void>;
  /** Without a parent yields an app's networks. */
  links(
    appToken: string,
    parent: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Link[], void>;
  /** An unknown outcome is `SOURCE_UNAVAILABLE` with the fact `outcome: 'unknown'`. */
  createLink(
    appToken: string,
    name: string,
    parent: string | null,
    signal: AbortSignal,
  ): Promise<Link>;
  /** Returns what the answer states, which may differ from the change. */
  updateLink(
    appToken: string,
    token: string,
    change: {
      readonly partnerId?: string | undefined;
      readonly costDataEnabled?: boolean | undefined;
    },
    signal: AbortSignal,
  ): Promise<StatedLink>;
  /** If it throws, the line was certainly not accepted. */
  submitSpend(line: SpendLine, signal: AbortSignal): Promise<SpendOutcome>;
  statistics(): ServiceStatistics;
  /** By the newest answer. */
  clockSkewMs(): number | null;
  close(): Promise<void>;
}
