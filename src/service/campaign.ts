/** The campaign API: reads partners and links page by page, creates and updates links. */

import { z } from 'zod';

import { type Facts, Failure } from '../errors.ts';
import {
  isPartnerId,
  isSameName,
  type Link,
  linkOf,
  type Partner,
  type StatedLink,
} from '../model/link.ts';
import type { Channel, Sending } from './call.ts';
import { readJson } from './body.ts';
import { type ListPage, pages } from './paging.ts';
import type { Service } from './service.ts';
import { policies, Setback } from './setback.ts';

const contentType = 'application/json';
const NETWORK_LEVEL = 1;
/** Undocumented: any text that a path holds unescaped, but `.` and `..`. */
const TOKEN = /^(?!\.{1,2}$)[\w.~-]{1,64}$/;

export function campaignApi(
  channel: Channel,
): Pick<Service, 'partners' | 'links' | 'createLink' | 'updateLink'> {
  /** v1 once v2 was found absent. */
  let version: 'v1' | 'v2' = 'v2';
  const v1 = (path: string) => channel.targetOf(`/public/v1${path}`);
  const call = <T extends z.ZodType>(
    target: string,
    schema: T,
    signal: AbortSignal,
    sending?: Sending,
  ): Promise<z.output<T>> =>
    channel.request(target, signal, async (answer) => readJson(answer, schema), sending);

  // An app may be answered without content if it has no links. `LIST_SHRUNK` doubts a list that had some.
  const readLinks = async (target: string, signal: AbortSignal): Promise<ListPage<Link>> =>
    channel.request(target, signal, async (answer, verdict) =>
      verdict === 'empty' ? { items: [], paging: null } : readJson(answer, linkPage),
    );

  return {
    // No limit is sent: its maximum is not documented, and the default of the service (50) is known to work.
    partners: (signal) =>
      pages(channel.origin, v1('/partners'), async (target) => call(target, partnerPage, signal)),

    links(appToken, parent, signal) {
      const path =
        linksPath(appToken) + (parent === null ? '' : `/${checkedToken('link', parent)}/children`);
      const first = channel.targetOf(`/public/${version}${path}`);
      const older = v1(path);
      return pages(channel.origin, first, async (target): Promise<ListPage<Link>> => {
        try {
          return await readLinks(target, signal);
        } catch (error) {
          const isMissing = error instanceof Failure && error.code === 'SOURCE_MISSING';
          if (!isMissing || target !== first || first === older) throw error;
        }
        const page = await readLinks(older, signal);
        version = 'v1';
        return { ...page, target: older };
      });
    },

    async createLink(appToken, name, parent, signal) {
      const what = `${JSON.stringify(name)} was created`;
      const fields =
        parent === null ? { name } : { name, parent_token: checkedToken('link', parent) };
      const sending = { method: 'POST', body: JSON.stringify(fields), contentType } as const;
      const target = v1(linksPath(appToken));
      const created = await call(target, oneLink, signal, sending).catch((error: unknown) => {
        throw writeError(error, what);
      });
      const { token, level } = created;
      const label = created.label ?? name;
      const isOfLevel = parent === null ? level === NETWORK_LEVEL : level > NETWORK_LEVEL;
      if (isOfLevel && isSameName(label, name)) return linkOf({ ...created, label });
      const other = `${JSON.stringify(created.label ?? '')} (${token}) of level ${level}`;
      throw undecided(what, `the answer was another link, ${other}`, { answered: token });
    },

    // Repeated like a read, since sending it twice has the same effect as once.
    async updateLink(appToken, token, { partnerId, costDataEnabled }, signal) {
      const target = v1(`${linksPath(appToken)}/${checkedToken('link', token)}`);
      if (partnerId !== undefined && !isPartnerId(partnerId)) {
        const message = `The partner id ${JSON.stringify(partnerId)} is not an integer`;
        throw new Failure('USAGE_INVALID', message, {
          facts: { partnerId },
          hint: 'Take the id from `ripen partners`.',
        });
      }
      const fields = [
        // The integer's own text: a JavaScript number would round a long one.
        ...(partnerId === undefined ? [] : [`"partner_id":${partnerId}`]),
        ...(costDataEnabled === undefined ? [] : [`"cost_data_enabled":${costDataEnabled}`]),
      ];
      const schema = oneLink.refine((link) => link.token === token, {
        error: `expected the link ${token}`,
      });
      const sending = { method: 'PATCH', body: `{${fields.join(',')}}`, contentType } as const;
      return call(target, schema, signal, sending).catch((error: unknown) => {
        throw signal.aborted ? writeError(error, `${token} was changed`) : error;
      });
    },
  };
}

const linksPath = (appToken: string) => `/apps/${checkedToken('app', appToken)}/trackers`;

function checkedToken(what: 'app' | 'link', token: string) {
  if (TOKEN.test(token)) return token;
  throw new Failure('USAGE_INVALID', `The ${what} token ${JSON.stringify(token)} is not a token`, {
    facts: { token },
    hint: '`ripen catalog` lists the apps, and `ripen links list` the tokens of links.',
  });
}

function undecided(what: string, because: string, facts: Facts, cause?: unknown) {
  return new Failure('SOURCE_UNAVAILABLE', `It is unknown whether the link ${what}: ${because}`, {
    facts: { ...facts, outcome: 'unknown' },
    hint: 'Run the command again in a minute: it creates no second link, and a repeated change has no further effect.',
    cause,
  });
}

function writeError(error: unknown, what: string) {
  if (!(error instanceof Failure)) return error;
  const { code, message, facts, cause } = error;
  if (cause instanceof Setback) {
    const { kind, because, details } = cause;
    if (policies[kind].effect === 'none') return error;
    const status = details.status ?? null;
    return undecided(what, `the request ${cause.message}`, { status, because }, cause);
  }
  const isUnread = code === 'DATA_MALFORMED' || code === 'SOURCE_OVERSIZED';
  return isUnread ? undecided(what, message, facts, cause) : error;
}

/** Ids are integers here and texts in reports. */
const idText = z.union([z.string(), z.number()]).transform(String);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')]);
const wholeNumber = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)]);
const statedLink = z
  .object({
    token: z.string().min(1),
    name: z.string().nullish(),
    label: z.string().nullish(),
    level: wholeNumber,
    archived: flag.nullish(),
    has_subtrackers: flag.nullish(),
    // An empty id belongs to no partner, but would be inherited.
    partner_id: idText.transform((id) => (id === '' ? null : id)).nullish(),
    cost_data_enabled: flag.nullish(),
    url: z.string().nullish(),
    click_url: z.string().nullish(),
    impression_url: z.string().nullish(),
  })
  .transform((wire): StatedLink => ({
    ...wire,
    hasSubtrackers: wire.has_subtrackers,
    partnerId: wire.partner_id,
    costDataEnabled: wire.cost_data_enabled,
    clickUrl: wire.click_url,
    impressionUrl: wire.impression_url,
  }));

/** The `cursor` of v2 is the position of the page itself and names no next one. */
const listPaging = z.object({ next: z.unknown(), cursors: z.unknown() }).partial().nullish();

function pageOf<T extends z.ZodType>(item: T) {
  return z
    .object({ data: z.object({ items: z.array(item), paging: listPaging }) })
    .transform(({ data: { items, paging } }) => ({ items, paging }));
}

const partnerPage = pageOf(
  z
    .object({ id: idText, display_name: z.string().nullish(), supports_cost_data: flag.nullish() })
    .transform((wire): Partner => ({
      id: wire.id,
      displayName: wire.display_name ?? '',
      supportsCostData: wire.supports_cost_data ?? null,
    })),
);
const linkPage = pageOf(statedLink.transform(linkOf));

const oneLink = z
  .object({ data: z.object({ items: z.tuple([statedLink]) }) })
  .transform(({ data }): StatedLink => data.items[0]);
