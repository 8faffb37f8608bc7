/** `ripen links list`, `create` and `update`: the links of an app, straight from the service. */

import { createLink, links, namesakes, updateLink, type CreatedLink, type Link } from '../index.ts';
import { countText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { tableText } from '../terminal/table.ts';
import { printResult, withConfig } from './verb.ts';

export interface LinksListArguments extends GlobalArguments {
  readonly app: string;
  readonly parent: string | undefined;
}

export interface LinksCreateArguments extends LinksListArguments {
  readonly name: string;
  readonly dryRun: boolean;
  readonly evenIfTaken: boolean;
}

export interface LinksUpdateArguments extends GlobalArguments {
  readonly app: string;
  readonly link: string;
  readonly partner: string | undefined;
  readonly costData: 'true' | 'false' | undefined;
}

/** Prints the links of an app, or the sub-links of one, in the service's order; URLs only as JSON. */
export async function linksList(args: LinksListArguments, shell: Shell): Promise<number> {
  const { app, parent } = args;
  const found = await withConfig(args, shell, false, async (config, stated) =>
    links(config, { ...stated, app, parent }),
  );
  printResult(args, shell, { links: found.map(linkFields) }, () => linksText(found, shell.resultColumns()));
  return 0;
}

/** Creates a network link or a sub-link and prints it; with `--dry-run` says what would be created, and creates nothing. */
export async function linksCreate(args: LinksCreateArguments, shell: Shell): Promise<number> {
  const { app, name, parent, evenIfTaken } = args;
  if (!args.dryRun) {
    const written = await withConfig(args, shell, false, async (config, stated) =>
      createLink(config, { ...stated, app, name, parent, evenIfTaken }),
    );
    const { link, isCreated: created } = written;
    printResult(args, shell, { link: linkFields(link), created }, () => createdText(written));
    return 0;
  }
  const found = await withConfig(args, shell, false, async (config, stated) =>
    namesakes(config, { ...stated, app, name, parent, evenIfTaken }),
  );
  const place = parent === undefined ? 'as a network link' : `below ${parent}`;
  const isThere = !evenIfTaken && found.some(({ archived }) => !archived);
  const what = isThere ? 'would create nothing: there is' : 'would create';
  printResult(
    args,
    shell,
    { namesakes: found.map(linkFields) },
    () =>
      `${what} ${JSON.stringify(name)} ${place} of the app ${app}; ${countText(found.length, 'link')} of that name. Nothing was sent.`,
  );
  return 0;
}

/** Changes the partner of a link, or its cost data setting, and prints it as the service then has it. */
export async function linksUpdate(args: LinksUpdateArguments, shell: Shell): Promise<number> {
  const { app, link, partner } = args;
  const costData = args.costData === undefined ? undefined : args.costData === 'true';
  const written = await withConfig(args, shell, false, async (config, stated) =>
    updateLink(config, { ...stated, app, link, partner, costData }),
  );
  printResult(args, shell, { link: linkFields(written) }, () => writtenText(written));
  return 0;
}

const levelNames = ['', 'network', 'campaign', 'ad group', 'creative'] as const;

/** What a level is called; its number for one that has no name. */
const levelName = (level: number): string => levelNames[level] ?? String(level);

/** A link under the service's own names. */
function linkFields(link: Link): object {
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

function createdText({ link, isCreated }: CreatedLink): string {
  if (isCreated) return writtenText(link);
  return `${writtenText(link)}\nIt was there before: nothing was sent. --even-if-taken creates another one of its name.`;
}

function writtenText(link: Link): string {
  const rows = [
    ['token', link.token],
    ['name', link.name],
    ['level', levelName(link.level)],
    ['partner', link.partnerId ?? ''],
    ['cost data', yesNo(link.costDataEnabled)],
    ['url', link.url ?? ''],
    ['click url', link.clickUrl ?? ''],
    ['impression url', link.impressionUrl ?? ''],
  ];
  return `${tableText([{ title: 'field' }, { title: 'value' }], rows)}\nThe warehouse has it after the next crawl of the app.`;
}

const yesNo = (is: boolean): string => (is ? 'yes' : 'no');
