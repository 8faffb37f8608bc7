/** The campaign API: lists partners, links and sub-links, creates and updates links (service-interface: Endpoints). */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { isRecord } from '../model/canonical-json.ts';
import { type SimulatedAnswer, documentAnswer, errorAnswer, type JsonDocument } from './answer.ts';
import {
  type LinkStore,
  type LinkTo,
  type Positioned,
  pageOf,
  pageRequestOf,
  pagingV1,
  pagingV2,
} from './lists.ts';
import type { Route } from './routes.ts';
import { MAX_LEVEL } from '../model/link.ts';
import type { WorldLink } from './world/entities.ts';
import type { World } from './world/world.ts';

export interface RequestBody {
  readonly contentType: string;
  readonly body: string;
}

interface CampaignRequest extends RequestBody {
  readonly route: Route;
  readonly address: URL;
}

interface Campaign {
  readonly world: World;
  readonly links: LinkStore;
}

export function answerCampaign(campaign: Campaign, request: CampaignRequest): SimulatedAnswer {
  const { route } = request;
  if (route.endpoint === 'partners') {
    const partners = campaign.world.partners.map((item, position) => ({ position, item }));
    return listAnswer(partners, request, (partner) => partner);
  }
  if (!/^[a-z0-9]{12}$/i.test(route.appToken))
    return invalid('app_token is not 12 alphanumeric characters');
  if (!campaign.world.apps.some((app) => app.token === route.appToken))
    return missing('App not found');
  if (route.linkToken !== '' && campaign.links.find(route.linkToken)?.appToken !== route.appToken) {
    return missing('Tracker not found');
  }
  if (route.endpoint === 'links' || route.endpoint === 'children') {
    const { links } = campaign;
    const listed = links.list(route.appToken, route.endpoint === 'links' ? null : route.linkToken);
    return listAnswer(listed, request, (link) => linkItem(links, link, link.partnerId));
  }
  return writeLink(campaign, request);
}

function listAnswer<Item>(
  list: readonly Positioned<Item>[],
  { route, address }: CampaignRequest,
  itemOf: (item: Item) => object,
): SimulatedAnswer {
  const request = pageRequestOf(address.searchParams);
  if (typeof request === 'string') return invalid(`${request} is not valid`);
  const page = pageOf(list, request);
  const linkTo: LinkTo = (parameter, cursor) =>
    `${address.origin}${address.pathname}?${parameter}=${cursor}&limit=${page.limit}`;
  const items = page.items.map(itemOf);
  return documentAnswer({
    data:
      route.version === 'v2'
        ? { paging: pagingV2(page, linkTo), items }
        : { ...envelope('1'), paging: pagingV1(page, linkTo), items },
  });
}

const newLink = z.object({
  name: z.string().regex(/\S/),
  parent_token: z.string().nullable().default(null),
});
const linkChange = z.object({
  partner_id: z.number().optional(),
  cost_data_enabled: z.boolean().optional(),
});

function writeLink(
  { world, links }: Campaign,
  { route, contentType, body }: CampaignRequest,
): SimulatedAnswer {
  if (contentType !== 'application/json')
    return errorAnswer(415, 'error_message', 'The body is not stated to be JSON');
  let fields: unknown = null;
  try {
    fields = JSON.parse(body);
  } catch {
    // Answered as any other value that is no object.
  }
  if (!isRecord(fields)) return errorAnswer(400, 'error_message', 'The body is not a JSON object');
  if (route.endpoint === 'create_link') {
    const { success, data, error } = newLink.safeParse(fields);
    if (!success) return invalid(z.prettifyError(error));
    const { name, parent_token: parentToken } = data;
    const parent = parentToken === null ? null : links.find(parentToken);
    if (parentToken !== null && parent?.appToken !== route.appToken)
      return invalid('parent_token is not of this app');
    if (parent?.level === MAX_LEVEL)
      return invalid(`parent_token has level ${MAX_LEVEL}, the deepest`);
    return written(links, links.insert({ appToken: route.appToken, parentToken, label: name }));
  }
  const { success, data, error } = linkChange.safeParse(fields);
  if (!success) return invalid(z.prettifyError(error));
  const { partner_id: partnerId, cost_data_enabled: costDataEnabled } = data;
  if (partnerId !== undefined && !world.partners.some(({ id }) => id === partnerId)) {
    return invalid('partner_id is not the id of a partner');
  }
  return written(
    links,
    links.change(route.linkToken, {
      ...(partnerId === undefined ? {} : { partnerId }),
      ...(costDataEnabled === undefined ? {} : { costDataEnabled }),
    }),
  );
}

/** A sub-link shows the partner it inherits (service-examples). */
function written(links: LinkStore, link: WorldLink): SimulatedAnswer {
  return documentAnswer({
    data: { ...envelope('2'), items: [linkItem(links, link, links.partnerOf(link.token))] },
  });
}

function linkItem(links: LinkStore, link: WorldLink, partnerId: number | null): JsonDocument {
  return {
    name: link.name,
    token: link.token,
    label: link.label,
    level: link.level,
    archived: link.archived,
    has_subtrackers: links.list(link.appToken, link.token).length > 0,
    partner_id: partnerId,
    cost_data_enabled: link.costDataEnabled,
    url: link.url,
    click_url: link.clickUrl,
    impression_url: link.impressionUrl,
  };
}

function envelope(apiVersion: string): JsonDocument {
  const timestamp = `${new Date().toISOString().slice(0, 19)}Z`;
  return { api_version: apiVersion, request_id: randomUUID(), timestamp };
}

/** Where the interface shows no status: 404 for what is unknown, 422 for an impossible value. */
const missing = (message: string) => errorAnswer(404, 'error_message', message);
const invalid = (message: string) => errorAnswer(422, 'error_message', message);
