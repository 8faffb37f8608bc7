/** The library's verbs for the account. Only `sendSpend` opens the warehouse. */

import { resolve } from 'node:path';

import type { Config } from '../config/config.ts';
import { failedEvent } from '../events.ts';
import {
  createLink as create,
  type CreatedLink,
  type LinkWriting,
  updateLink as update,
} from '../account/write-link.ts';
import { catalogFilters, type CatalogSection, metricFilterNames } from '../model/catalog.ts';
import type { CatalogItem } from '../model/catalog-item.ts';
import type { Link, Partner } from '../model/link.ts';
import {
  type Circumstances,
  verb,
  withDefaults,
  onScratchWarehouse,
  onWarehouse,
  withService,
} from '../run/circumstances.ts';
import type { SpendSummary } from '../account/send-spend.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface CatalogOptions extends Circumstances {
  /** Part of an id or a name, in any case (default: every item). */
  readonly word?: string | undefined;
  /** Lists only the metrics of this section (default: everything). */
  readonly section?: CatalogSection | undefined;
}

/** With `parent`, the links below that one. */
export interface LinksOptions extends Circumstances {
  readonly app: string;
  readonly parent?: string | undefined;
}

export interface NewLinkOptions extends LinksOptions {
  readonly name: string;
}

export interface LinkChangeOptions extends Circumstances {
  readonly app: string;
  readonly link: string;
  /** The id of a partner. */
  readonly partner?: string | undefined;
  readonly costData?: boolean | undefined;
}

export interface SpendOptions extends Circumstances {
  /** Path of the file, from the working directory: `.csv` or `.ndjson`. */
  readonly file: string;
  /** Only checks the lines. Sends and records nothing. */
  readonly dryRun?: boolean;
  /** Sends lines of unknown outcome again. One that was accepted then counts twice. */
  readonly resendUnknown?: boolean;
}

/** Returns items of filters-data. */
export const catalog = verb(
  async (config: Config, options: CatalogOptions = {}): Promise<readonly CatalogItem[]> => {
    const { word = '', section = null } = options;
    const request =
      section === null ? { filters: catalogFilters } : { filters: metricFilterNames, section };
    const items = await onService(config, options, async ({ service, signal }) =>
      service.filtersData(request, signal),
    );
    const searched = word.toLowerCase();
    // Filtered here, as the service's own search ignores short names.
    return items.filter(({ id, name, shortName }) =>
      [id, name, shortName].some((text) => text.toLowerCase().includes(searched)),
    );
  },
);

export const partners = verb(
  async (config: Config, options: Circumstances = {}): Promise<readonly Partner[]> =>
    onService(config, options, async ({ service, signal }) => allPages(service.partners(signal))),
);

export const links = verb(async (config: Config, options: LinksOptions): Promise<readonly Link[]> =>
  onService(config, options, async ({ service, signal }) =>
    allPages(service.links(options.app, options.parent ?? null, signal)),
  ),
);

/**
 * Sends nothing if a link in use has the name, and returns that one. If the response was lost, the failure's fact `outcome` is
 * `unknown`, and calling again creates no second link.
 */
export const createLink = verb(
  async (config: Config, options: NewLinkOptions): Promise<CreatedLink> => {
    const { app: appToken, name, parent = null } = options;
    return onService(config, options, async (writing) =>
      create(writing, { appToken, name, parent }),
    );
  },
);

/** Returns the link as the service then states it. */
export const updateLink = verb(
  async (config: Config, options: LinkChangeOptions): Promise<Link> => {
    const { app, link, partner: partnerId, costData: costDataEnabled } = options;
    const change = { partnerId, costDataEnabled };
    return onService(config, options, async (writing) => update(writing, app, link, change));
  },
);

/**
 * Sends each Cost ID at most once unless `resendUnknown` is set. Rejected lines and a stop are failures of the summary. Throws,
 * and sends nothing, if the file cannot be read as spend.
 */
export const sendSpend = verb(
  async (config: Config, options: SpendOptions): Promise<SpendSummary> => {
    const { sendSpend: send } = await import('../account/send-spend.ts');
    const { file, dryRun = false, resendUnknown = false } = options;
    const resolved = withDefaults(config, options);
    const request = { file: resolve(file), dryRun, resendUnknown, now: resolved.planAt };
    const { warehouseExists } = await import('../warehouse/opening.ts');
    const sendLines = async (warehouse: Warehouse): Promise<SpendSummary> =>
      withService(config, resolved, async (service) =>
        send(request, { ...resolved, warehouse, service }),
      );
    const summary =
      dryRun && !warehouseExists(config.warehouse)
        ? await onScratchWarehouse(config, resolved, sendLines)
        : await onWarehouse(config, 'write', resolved, sendLines);
    for (const failure of summary.failures) resolved.emit(failedEvent(failure));
    return summary;
  },
);

async function onService<T>(
  config: Config,
  options: Circumstances,
  use: (writing: LinkWriting) => Promise<T>,
): Promise<T> {
  const resolved = withDefaults(config, options);
  return withService(config, resolved, async (service) => use({ ...resolved, service }));
}

async function allPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}
