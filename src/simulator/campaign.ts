/** The campaign API: lists partners, links and sub-links, creates and updates links (service-interface: Endpoints). */

import { randomUUID } from 'node:crypto';

import * as z from 'zod';

import { isRecord } from '../model/canonical-json.ts';
import { type SimulatedAnswer, documentAnswer, errorAnswer } from './answer.ts';
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

export interface CampaignRequest extends Route {
  readonly address: URL;
  readonly contentType: string;
  readonly body: string;
}

interface Campaign {
  readonly world: World;
  readonly links: LinkStore;
}

export function answerCampaign(campaign: Campaign, request: CampaignRequest): SimulatedAnswer {
  const { world, links } = campaign;
  const { endpoint, appToken, linkToken } = request;
  if (endpoint === 'partners') {
    const partners = world.partners.map((item, position) => ({ position, item }));
    return listAnswer(partners, request, (partner) => partner);
  }
  if (!/^[a-z0-9]{12}$/i.test(appToken))
    return refused(422, 'app_token is not 12 alphanumeric characters');
  if (!world.apps.some(({ token }) => token === appToken)) return refused(404, 'App not found');
  if (linkToken !== '' && links.find(linkToken)?.appToken !== appToken)
    return refused(404, 'Tracker not found');
  if (endpoint !== 'links' && endpoint !== 'children') return writeLink(campaign, request);
  const listed = links.list(appToken, endpoint === 'links' ? null : linkToken);
  return listAnswer(listed, request, (link) => linkItem(links, link));
}

/** Where the interface shows no status: 404 for what is unknown, 422 for an impossible value. */
const refused = (status: number, message: string) => errorAnswer(status, 'error_message', message);

function listAnswer<Item>(
  list: readonly Positioned<Item>[],
  { version, address }: CampaignRequest,
  itemOf: (item: Item) => object,
) {
  const request = pageRequestOf(address.searchParams);
  if (typeof request === 'string') return refused(422, `${request} is not valid`);
  const page = pageOf(list, request);
  const linkTo: LinkTo = (parameter, cursor) =>
    `${address.origin}${address.pathname}?${parameter}=${cursor}&limit=${page.limit}`;
  const paging = version === 'v2' ? pagingV2(page, linkTo) : pagingV1(page, linkTo);
  const envelope = version === 'v2' ? {} : envelopeOf('1');
  return documentAnswer({ data: { ...envelope, paging, items: page.items.map(itemOf) } });
}

const newLink = z.object({
  name: z.string().regex(/\S/),
  parent_token: z.string().nullable().default(null),
});
const linkChange = z.object({
  partner_id: z.number().exactOptional(),
  cost_data_enabled: z.boolean().exactOptional(),
});

function writeLink(
  { world, links }: Campaign,
  { endpoint, appToken, linkToken, contentType, body }: CampaignRequest,
) {
  if (contentType !== 'application/json') return refused(415, 'The body is not stated to be JSON');
  let fields: unknown = null;
  try {
    fields = JSON.parse(body);
  } catch {
    // Answered as any other value that is no object.
  }
  if (!isRecord(fields)) return refused(400, 'The body is not a JSON object');
  let link: WorldLink;
  if (endpoint === 'create_link') {
    const { success, data, error } = newLink.safeParse(fields);
    if (!success) return refused(422, z.prettifyError(error));
    const { name: label, parent_token: parentToken } = data;
    const parent = parentToken === null ? null : links.find(parentToken);
    if (parentToken !== null && parent?.appToken !== appToken)
      return refused(422, 'parent_token is not of this app');
    if (parent?.level === MAX_LEVEL)
      return refused(422, `parent_token has level ${MAX_LEVEL}, the deepest`);
    link = links.insert({ appToken, parentToken, label });
  } else {
    const { success, data, error } = linkChange.safeParse(fields);
    if (!success) return refused(422, z.prettifyError(error));
    const { partner_id: partnerId } = data;
    if (partnerId !== undefined && !world.partners.some(({ id }) => id === partnerId))
      return refused(422, 'partner_id is not the id of a partner');
    link = links.change(linkToken, data);
  }
  // A sub-link shows the partner it inherits (service-examples).
  const item = { ...linkItem(links, link), partner_id: links.partnerOf(link.token) };
  return documentAnswer({ data: { ...envelopeOf('2'), items: [item] } });
}

function linkItem(links: LinkStore, link: WorldLink) {
  const { appToken, parentToken: _, ...fields } = link;
  return { ...fields, has_subtrackers: links.list(appToken, fields.token).length > 0 };
}

function envelopeOf(apiVersion: string) {
  const timestamp = `${new Date().toISOString().slice(0, 19)}Z`;
  return { api_version: apiVersion, request_id: randomUUID(), timestamp };
}
