/** `ripen links list`: the links of an app or the sub-links of one, straight from the service. */

import type { Link } from '../model/link.ts';
import { allPages, askService } from './ask.ts';
import { countText } from './measure.ts';
import type { GlobalArguments, Shell } from './shell.ts';
import { tableText } from './table.ts';

export interface LinksListArguments extends GlobalArguments {
  readonly app: string;
  readonly parent: string | undefined;
}

const levelNames = ['', 'network', 'campaign', 'ad group', 'creative'] as const;

/** Prints the links in the service's order; URLs only as JSON. */
export async function linksList(args: LinksListArguments, shell: Shell): Promise<number> {
  return askService(args, shell, {
    name: 'links',
    ask: async (service, signal) => allPages(service.links(args.app, args.parent ?? null, signal)),
    asText: linksText,
  });
}

function linksText(found: readonly Link[]): string {
  const columns = [
    { title: 'token' },
    { title: 'name' },
    { title: 'level' },
    { title: 'partner', align: 'right' },
    { title: 'sub-links' },
    { title: 'cost data' },
    { title: 'archived' },
  ] as const;
  const rows = found.map((link) => [
    link.token,
    link.name,
    levelNames[link.level] ?? String(link.level),
    link.partnerId ?? '',
    yesNo(link.hasSubtrackers),
    yesNo(link.costDataEnabled),
    yesNo(link.archived),
  ]);
  return `${tableText(columns, rows)}\n${countText(found.length, 'link')}`;
}

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}
