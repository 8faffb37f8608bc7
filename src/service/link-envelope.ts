/** Partners and links as the campaign API wraps them: v1 and v2 envelopes, read tolerantly. */

import { z } from 'zod';
import type { Link, Partner } from '../model/link.ts';
import { pagingSchema } from './paging.ts';

/** Ids are integers here and strings in reports; text either way. */
const idText = z.union([z.string(), z.number()]).transform(String);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')]);
const wholeNumber = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)]);
const textOrNull = z
  .string()
  .nullish()
  .transform((text) => text ?? null);

const partnerSchema = z
  .object({ id: idText, display_name: z.string().nullish(), supports_cost_data: flag.nullish() })
  .transform((wire): Partner => ({
    id: wire.id,
    displayName: wire.display_name ?? '',
    supportsCostData: wire.supports_cost_data ?? false,
  }));

const linkSchema = z
  .object({
    token: z.string().min(1),
    name: z.string(),
    label: z.string().nullish(),
    level: wholeNumber,
    archived: flag.nullish(),
    has_subtrackers: flag.nullish(),
    partner_id: idText.nullish(),
    cost_data_enabled: flag.nullish(),
    url: textOrNull,
    click_url: textOrNull,
    impression_url: textOrNull,
  })
  .transform((wire): Link => ({
    token: wire.token,
    name: wire.name,
    label: wire.label ?? '',
    level: wire.level,
    archived: wire.archived ?? false,
    // A guide for the crawl: where it is missing, asking costs a call, not asking might cost links.
    hasSubtrackers: wire.has_subtrackers ?? true,
    partnerId: wire.partner_id ?? null,
    costDataEnabled: wire.cost_data_enabled ?? false,
    url: wire.url,
    clickUrl: wire.click_url,
    impressionUrl: wire.impression_url,
  }));

function pageOf<T extends z.ZodType>(item: T) {
  return z
    .object({ data: z.object({ items: z.array(item), paging: pagingSchema }) })
    .transform(({ data: { items, paging } }) => ({ items, paging }));
}

export const partnerPage = pageOf(partnerSchema);
export const linkPage = pageOf(linkSchema);

/** The one link of a create or update answer. */
export const oneLink = z
  .object({ data: z.object({ items: z.tuple([linkSchema]) }) })
  .transform((answer): Link => answer.data.items[0]);
