/** `ripen links list`: the links of an app or the sub-links of one, straight from the service. */

import { checkAppToken } from '../links/check-write.ts';
import type { Link } from '../model/link.ts';
import { allPages, askService } from './ask.ts';
import { countText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { tableText } from '../terminal/table.ts';

export interface LinksListArguments extends GlobalArguments {
  readonly app: string;
  readonly parent: string | undefined;
}

const levelNames = ['', 'network', 'campaign', 'ad group', 'creative'] as const;

/** What a level is called; its number for one that has no name. */
export function levelName(level: number): string {
  return levelNames[level] ?? String(level);
}

/** A link under the service's own names. */
export function linkFields(link: Link): object {
  return {
    name: link.name,
    token: link.token,
    label: link.label,
    level: link.level,
    archived: link.archived,
    has_subtrackers: link.hasSubtrackers,
    partner_id: link.partnerId,
    cost_data_enabled: link.costDataEnabled,
    url: link.url,
    click_url: link.clickUrl,
    impression_url: link.impressionUrl,
  };
}

/** Prints the links in the service's order; URLs only as JSON. */
export async function linksList(args: LinksListArguments, shell: Shell): Promise<number> {
  return askService(args, shell, {
    name: 'links',
    ask: async (service, signal, emit) => {
      const message = checkAppToken(args.app);
      if (message !== null) emit({ type: 'warning', code: 'APP_TOKEN_UNUSUAL', slice: null, window: null, message });
      return allPages(service.links(args.app, args.parent ?? null, signal));
    },
    asText: linksText,
    asFields: linkFields,
  });
}

function linksText(found: readonly Link[], terminal: number | null): string {
  const columns = [
    { title: 'token' },
    { title: 'name', shrinks: true },
    { title: 'level' },
    { title: 'partner', align: 'right' },
    { title: 'sub-links' },
    { title: 'cost data' },
    { title: 'archived' },
  ] as const;
  const rows = found.map((link) => [
    link.token,
    link.name,
    levelName(link.level),
    link.partnerId ?? '',
    yesNo(link.hasSubtrackers),
    yesNo(link.costDataEnabled),
    yesNo(link.archived),
  ]);
  return `${tableText(columns, rows, terminal)}\n${countText(found.length, 'link')}`;
}

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}
