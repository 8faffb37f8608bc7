/** `ripen catalog`, `partners` and `links`: what the service lists, straight from it, and links written to it. */

import {
  catalog as searchCatalog,
  createLink,
  links,
  namesakes,
  partners as listPartners,
  updateLink,
  type CatalogItem,
  type CatalogSection,
  type Link,
} from '../index.ts';
import { formatColumnType } from '../model/column-type.ts';
import { isMetricItem, metricOf } from '../model/metric.ts';
import { countText, durationText, groupedText } from '../terminal/measure.ts';
import type { GlobalArguments } from '../terminal/shell.ts';
import { tableText, type Column } from '../terminal/table.ts';
import { presented } from './verb.ts';

const yesNo = (is: boolean | null): string => (is === null ? '' : is ? 'yes' : 'no');

/** A table with the number of its rows below. */
function listText(
  noun: string,
  columns: readonly Column[],
  rows: readonly string[][],
  terminal: number | null,
): string {
  return `${tableText(columns, rows, terminal)}\n${countText(rows.length, noun)}`;
}

interface CatalogArguments extends GlobalArguments {
  readonly word: string | undefined;
  readonly section: CatalogSection | undefined;
}

/** Prints the items that hold the word, of metrics one section; without either how many items each list has. */
export const catalog = presented({
  offline: false,
  act: async (config, stated, { word, section }: CatalogArguments) =>
    searchCatalog(config, { ...stated, word, section }),
  json: (found) => ({
    catalog: found.map(({ shortName, filter, id, name, section, formatting, description }) => {
      return { filter, id, name, short_name: shortName, section, formatting, description };
    }),
  }),
  text: (found, { word, section }, columns) =>
    word === undefined && section === undefined ? countsText(found) : itemsText(found, columns),
});

function countsText(found: readonly CatalogItem[]): string {
  const lists = [...new Set(found.map(({ filter }) => filter))];
  const rows = lists.map((list) => [list, groupedText(found.filter(({ filter }) => filter === list).length)]);
  const table = tableText([{ title: 'list' }, { title: 'items', align: 'right' }], rows);
  return `${table}\n${countText(found.length, 'item')}; \`ripen catalog WORD\` searches their ids and names, \`--json\` prints all`;
}

/** With how ripen treats a metric: its horizon, whether its values add up over rows, the type of its column. */
function itemsText(found: readonly CatalogItem[], terminal: number | null): string {
  const columns = [
    { title: 'filter', shrinks: true },
    { title: 'id' },
    { title: 'name', shrinks: true },
    { title: 'section', shrinks: true },
    ...['formatting', 'final after', 'adds up', 'column'].map((title) => ({ title })),
  ];
  const rows = found.map((item) => {
    const metric = isMetricItem(item) ? metricOf(item.id, item) : null;
    const horizon = metric?.horizonMs ?? null;
    const treated =
      metric === null
        ? []
        : [horizon === null ? 'never' : durationText(horizon), yesNo(metric.additive), formatColumnType(metric.type)];
    return [item.filter, item.id, item.name, item.section, item.formatting, ...treated];
  });
  return listText('item', columns, rows, terminal);
}

/** Prints every partner in the service's order, as JSON under the service's own names. */
export const partners = presented({
  offline: false,
  act: async (config, stated, _args: GlobalArguments) => listPartners(config, stated),
  json: (found) => ({
    partners: found.map(({ id, displayName, supportsCostData }) => {
      return { id, display_name: displayName, supports_cost_data: supportsCostData };
    }),
  }),
  text: (found, _args, terminal) =>
    listText(
      'partner',
      [{ title: 'id', align: 'right' }, { title: 'partner', shrinks: true }, { title: 'cost data' }],
      found.map((partner) => [partner.id, partner.displayName, yesNo(partner.supportsCostData)]),
      terminal,
    ),
});

interface ListArguments extends GlobalArguments {
  readonly app: string;
  readonly parent: string | undefined;
}

/** Prints the links of an app, or the sub-links of one, in the service's order; URLs only as JSON. */
export const linksList = presented({
  offline: false,
  act: async (config, stated, { app, parent }: ListArguments) => links(config, { ...stated, app, parent }),
  json: (found) => ({ links: found.map(linkFields) }),
  text: (found, _args, terminal) =>
    listText(
      'link',
      [
        { title: 'token' },
        { title: 'name', shrinks: true },
        { title: 'level' },
        { title: 'partner', align: 'right' },
        ...['sub-links', 'cost data', 'archived'].map((title) => ({ title })),
      ],
      found.map((link) => [
        link.token,
        link.name,
        levelName(link.level),
        link.partnerId ?? '',
        yesNo(link.hasSubtrackers),
        yesNo(link.costDataEnabled),
        yesNo(link.archived),
      ]),
      terminal,
    ),
});

interface CreateArguments extends ListArguments {
  readonly name: string;
  readonly dryRun: boolean;
  readonly evenIfTaken: boolean;
}

/** Creates a network link or a sub-link and prints it; with `--dry-run` says what would be created, and creates nothing. */
export const linksCreate = presented({
  offline: false,
  act: async (config, stated, { app, name, parent, evenIfTaken, dryRun }: CreateArguments) => {
    const wanted = { ...stated, app, name, parent, evenIfTaken };
    return dryRun ? { found: await namesakes(config, wanted) } : createLink(config, wanted);
  },
  json: (done) =>
    'found' in done
      ? { namesakes: done.found.map(linkFields) }
      : { link: linkFields(done.link), created: done.isCreated },
  text: (done, { name, app, parent, evenIfTaken }) => {
    if (!('found' in done)) {
      const known = '\nIt was there before: nothing was sent. --even-if-taken creates another one of its name.';
      return `${linkText(done.link)}${done.isCreated ? '' : known}`;
    }
    const isTaken = !evenIfTaken && done.found.some(({ archived }) => !archived);
    const what = isTaken ? 'would create nothing: there is' : 'would create';
    const place = parent === undefined ? 'as a network link' : `below ${parent}`;
    return `${what} ${JSON.stringify(name)} ${place} of the app ${app}; ${countText(done.found.length, 'link')} of that name. Nothing was sent.`;
  },
});

interface UpdateArguments extends GlobalArguments {
  readonly app: string;
  readonly link: string;
  readonly partner: string | undefined;
  readonly costData: string | undefined;
}

/** Changes the partner of a link, or its cost data setting, and prints it as the service then has it. */
export const linksUpdate = presented({
  offline: false,
  act: async (config, stated, { app, link, partner, costData }: UpdateArguments) =>
    updateLink(config, {
      ...stated,
      app,
      link,
      partner,
      costData: costData === undefined ? undefined : costData === 'true',
    }),
  json: (link) => ({ link: linkFields(link) }),
  text: (link) => linkText(link),
});

/** What a level is called; its number for one that has no name. */
const levelName = (level: number): string =>
  ['', 'network', 'campaign', 'ad group', 'creative'][level] ?? String(level);

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

function linkText(link: Link): string {
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
