/** The library's verbs for the account. Only `sendSpend` opens the warehouse. */

import { resolve } from 'node:path';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { failedEvent } from '../events.ts';
import { catalogFilters, type CatalogSection, metricFilterNames } from '../model/catalog.ts';
import type { CatalogItem } from '../model/catalog-item.ts';
import { isSameName, type Link, linkOf, type Partner } from '../model/link.ts';
import {
  type Circumstances,
  verb,
  withDefaults,
  onScratchWarehouse,
  onWarehouse,
  withService,
} from '../run/circumstances.ts';
import type { Service } from '../service/service.ts';
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

export interface CreatedLink {
  readonly link: Link;
  /** False if a link with the name existed. */
  readonly isCreated: boolean;
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
    const items = await onService(config, options, async (service, signal) =>
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
    onService(config, options, async (service, signal) => allPages(service.partners(signal))),
);

export const links = verb(async (config: Config, options: LinksOptions): Promise<readonly Link[]> =>
  onService(config, options, async (service, signal) =>
    allPages(service.links(options.app, options.parent ?? null, signal)),
  ),
);

/**
 * Creates a network link, or a sub-link of `parent`. Sends nothing if a link in use has the name, and returns that one. If the
 * response was lost, the failure's fact `outcome` is `unknown`, and calling again creates no second link.
 */
export const createLink = verb(
  async (config: Config, options: NewLinkOptions): Promise<CreatedLink> => {
    const { app, name, parent = null } = options;
    const trimmed = name.trim();
    let problem: string | null = null;
    if (trimmed === '') problem = 'was empty';
    else if (/\p{Cc}/u.test(name)) problem = 'held control characters';
    else if (trimmed !== name) problem = 'has blanks around it';
    if (problem !== null) {
      const message = `The name ${JSON.stringify(name)} of the link ${problem}.`;
      const hint = 'Use printable characters, without blanks before or after.';
      throw new Failure('USAGE_INVALID', message, { facts: { name }, hint });
    }
    return onService(config, options, async (service, signal) => {
      for await (const page of service.links(app, parent, signal)) {
        const link = page.find(({ label, archived }) => !archived && isSameName(label, name));
        if (link !== undefined) return { link, isCreated: false };
      }
      return { link: await service.createLink(app, name, parent, signal), isCreated: true };
    });
  },
);

/** Returns the link as the service then states it. Throws `SOURCE_REFUSED` if a value differs from the requested one. */
export const updateLink = verb(async (config: Config, options: LinkChangeOptions) => {
  const { app, link: token, partner, costData } = options;
  if (partner === undefined && costData === undefined) {
    throw new Failure('USAGE_INVALID', 'There is nothing to change.', {
      hint: 'Pass --partner, --cost-data or both.',
    });
  }
  const change = { partnerId: partner, costDataEnabled: costData };
  const stated = await onService(config, options, async (service, signal) =>
    service.updateLink(app, token, change, signal),
  );
  // What the answer leaves open, even as a sub-link's null partner, is as requested.
  const isOpen = stated.partnerId === undefined || (stated.partnerId === null && stated.level > 1);
  const partnerId = isOpen ? partner : stated.partnerId;
  const costDataEnabled = stated.costDataEnabled ?? costData;
  const differences: string[] = [];
  if (partner !== undefined && partnerId !== partner)
    differences.push(`partner ${partner} was requested, and it has ${partnerId ?? 'none'}`);
  if (costData !== undefined && costDataEnabled !== costData) {
    const [requested, actual] = costData ? ['on', 'off'] : ['off', 'on'];
    differences.push(`cost data ${requested} was requested, and it is ${actual}`);
  }
  if (differences.length === 0) return linkOf({ ...stated, partnerId, costDataEnabled });
  const message = `The link ${token} was not changed as requested: ${differences.join('; ')}`;
  throw new Failure('SOURCE_REFUSED', message, {
    facts: { token },
    hint: 'Report it to the service. `ripen links list` shows the link as it is.',
  });
});

/**
 * Sends each Cost ID at most once unless `resendUnknown` is set. Rejected lines and a stop are failures of the summary. Throws,
 * and sends nothing, if the file cannot be read as spend.
 */
export const sendSpend = verb(async (config: Config, options: SpendOptions) => {
  const { sendSpend: send } = await import('../account/send-spend.ts');
  const { file, dryRun = false, resendUnknown = false } = options;
  const resolved = withDefaults(config, options);
  const request = { file: resolve(file), dryRun, resendUnknown, now: resolved.planAt };
  const { warehouseExists } = await import('../warehouse/opening.ts');
  const sendLines = async (warehouse: Warehouse) =>
    withService(config, resolved, async (service) =>
      send(request, { ...resolved, warehouse, service }),
    );
  const summary =
    dryRun && !warehouseExists(config.warehouse)
      ? await onScratchWarehouse(config, resolved, sendLines)
      : await onWarehouse(config, 'write', resolved, sendLines);
  for (const failure of summary.failures) resolved.emit(failedEvent(failure));
  return summary;
});

async function onService<T>(
  config: Config,
  options: Circumstances,
  use: (service: Service, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const resolved = withDefaults(config, options);
  return withService(config, resolved, async (service) => use(service, resolved.signal));
}

async function allPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}
