/** `ripen catalog`, `partners`, `links` and `spend`. */

import { resolve } from 'node:path';

import { exitCodeOf, exitCodes } from '../errors.ts';
import {
  catalog as searchCatalog,
  createLink,
  links,
  partners as listPartners,
  sendSpend,
  updateLink,
  type Link,
} from '../index.ts';
import { formatColumnType } from '../model/column-type.ts';
import { alike } from '../model/alike.ts';
import { isMetricItem, metricOf } from '../model/metric.ts';
import { countText, elapsedText, groupedText } from '../model/measure.ts';
import { snakeCased } from '../report/terminal/printable.ts';
import { tableText, type Table } from '../report/terminal/table.ts';
import { online } from './verb.ts';
import type { Arguments, GlobalArguments } from './words.ts';

const yesNo = (is: boolean | null) => (is === null ? '' : is ? 'yes' : 'no');

const listText =
  (noun: string, table: Table) =>
  (terminal: number | null): string =>
    `${tableText(table, terminal)}\n${countText(table.rows.length, noun)}`;

export const catalog = online(async (config, options, { word, section }: Arguments<'catalog'>) => {
  const items = await searchCatalog(config, { ...options, word, section });
  // The warehouse has the other fields of an item.
  const json = { catalog: items.map((item) => snakeCased({ ...item, attributes: undefined })) };
  if (word === undefined && section === undefined) {
    const lists = alike(items, ({ filter }) => filter);
    const rows = lists.map((ofList) => [ofList[0].filter, groupedText(ofList.length)]);
    const table = tableText({ columns: ['list', '#items'], rows });
    const hint = '`ripen catalog WORD` searches their items, `--json` prints all';
    return { json, text: `${table}\n${countText(items.length, 'item')}; ${hint}` };
  }
  const rows = items.map((item) => {
    const cells = [item.filter, item.id, item.name, item.section, item.formatting];
    if (!isMetricItem(item)) return cells;
    const { horizonMs, additive, type } = metricOf(item.id, item);
    const finalAfter = horizonMs === null ? 'never' : elapsedText(horizonMs);
    return cells.concat(finalAfter, yesNo(additive), formatColumnType(type));
  });
  const columns = '~filter,id,~name,~section,formatting,final after,adds up,column'.split(',');
  return { json, text: listText('item', { columns, rows }) };
});

export const partners = online(async (config, options, _args: GlobalArguments) => {
  const list = await listPartners(config, options);
  const rows = list.map(({ id, displayName, supportsCostData }) => {
    return [id, displayName, yesNo(supportsCostData)];
  });
  const columns = ['#id', '~partner', 'cost data'];
  return { json: { partners: list.map(snakeCased) }, text: listText('partner', { columns, rows }) };
});

export const linksList = online(async (config, options, args: Arguments<'links list'>) => {
  const { app, parent } = args;
  const list = await links(config, { ...options, app, parent });
  const columns = 'token,~name,#level,#partner,sub-links,cost data,archived'.split(',');
  const rows = list.map((link) => {
    const flags = [link.hasSubtrackers, link.costDataEnabled, link.archived];
    return [link.token, link.name, `${link.level}`, link.partnerId ?? '', ...flags.map(yesNo)];
  });
  return { json: { links: list.map(snakeCased) }, text: listText('link', { columns, rows }) };
});

export const linksCreate = online(async (config, options, args: Arguments<'links create'>) => {
  const { app, name, parent } = args;
  const { link, isCreated } = await createLink(config, { ...options, app, name, parent });
  const note = isCreated ? '' : '\nIt already exists: nothing was sent.';
  return { json: { link: snakeCased(link), created: isCreated }, text: `${linkText(link)}${note}` };
});

export const linksUpdate = online(async (config, options, args: Arguments<'links update'>) => {
  const { app, link: token, partner, costData: enabled } = args;
  const costData = enabled === undefined ? undefined : enabled === 'true';
  const link = await updateLink(config, { ...options, app, link: token, partner, costData });
  return { json: { link: snakeCased(link) }, text: linkText(link) };
});

const linkText = (link: Link) =>
  `${fieldsText(snakeCased(link))}\nThe warehouse has it after the next crawl of the app.`;

/** Writes one line per field, but for nulls and nested values. */
function fieldsText(fields: object) {
  const rows = Object.entries(fields)
    .filter(([, value]) => typeof value !== 'object')
    .map(([name, value]) => [name.replaceAll('_', ' '), String(value)]);
  return tableText({ columns: ['field', 'value'], rows });
}

export const spendSend = online(async (config, options, args: Arguments<'spend send'>, shell) => {
  const { dryRun, resendUnknown } = args;
  const file = resolve(shell.directory, args.file);
  const summary = await sendSpend(config, { ...options, file, dryRun, resendUnknown });
  const { failures } = summary;
  const isStopped = failures.some(({ code }) => code === 'INTERRUPTED');
  return {
    json: summary,
    text: `${fieldsText(summary)}${dryRun ? '\nNothing was sent and nothing recorded.' : ''}`,
    failures,
    exitCode: isStopped ? exitCodes.interrupted : exitCodeOf(failures),
  };
});
