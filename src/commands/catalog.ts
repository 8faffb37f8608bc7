/** `ripen catalog` and `ripen partners`: what the service lists, searchable, and its partners, straight from it. */

import {
  catalog as searchCatalog,
  type CatalogItem,
  type CatalogSection,
  type Partner,
  partners as listPartners,
} from '../index.ts';
import { formatColumnType } from '../model/column-type.ts';
import { formatDuration } from '../model/duration.ts';
import { isMetricItem, type Metric, metricOf } from '../model/metric.ts';
import { countText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { tableText } from '../terminal/table.ts';
import { printResult, withConfig } from './verb.ts';

interface CatalogArguments extends GlobalArguments {
  readonly word: string | undefined;
  readonly section: CatalogSection | undefined;
}

/** Prints every item, or those that hold the word; of metrics one section, if asked for. */
export async function catalog(args: CatalogArguments, shell: Shell): Promise<number> {
  const { word, section } = args;
  const found = await withConfig(args, shell, false, async (config, stated) =>
    searchCatalog(config, { ...stated, word, section }),
  );
  printResult(args, shell, { catalog: found.map(itemFields) }, () => catalogText(found, shell.resultColumns()));
  return 0;
}

/** An item under the service's own names. */
function itemFields({ filter, id, name, shortName, section, formatting, description }: CatalogItem): object {
  return { filter, id, name, short_name: shortName, section, formatting, description };
}

function catalogText(found: readonly CatalogItem[], terminal: number | null): string {
  const columns = [
    { title: 'filter', shrinks: true },
    { title: 'id' },
    { title: 'name', shrinks: true },
    { title: 'section', shrinks: true },
    { title: 'formatting' },
    { title: 'final after' },
    { title: 'adds up' },
    { title: 'column' },
  ];
  const rows = found.map((item) => [
    item.filter,
    item.id,
    item.name,
    item.section,
    item.formatting,
    ...(isMetricItem(item) ? settlingCells(metricOf(item.id, [item])) : ['', '', '']),
  ]);
  return `${tableText(columns, rows, terminal)}\n${countText(found.length, 'item')}`;
}

/** How ripen treats a metric: its horizon, whether its values add up over rows, the type of its column. */
function settlingCells({ horizonMs, additive, type }: Metric): string[] {
  const horizon = horizonMs === null ? 'never' : formatDuration(horizonMs);
  return [horizon, additive ? 'yes' : 'no', formatColumnType(type)];
}

/** Prints every partner in the service's order, as JSON under the service's own names. */
export async function partners(args: GlobalArguments, shell: Shell): Promise<number> {
  const found = await withConfig(args, shell, false, listPartners);
  const listed = found.map((partner) => ({
    id: partner.id,
    display_name: partner.displayName,
    supports_cost_data: partner.supportsCostData,
  }));
  printResult(args, shell, { partners: listed }, () => partnersText(found, shell.resultColumns()));
  return 0;
}

const yesNo = (is: boolean | null): string => (is === null ? '' : is ? 'yes' : 'no');

function partnersText(found: readonly Partner[], terminal: number | null): string {
  const rows = found.map((partner) => [partner.id, partner.displayName, yesNo(partner.supportsCostData)]);
  const columns = [
    { title: 'id', align: 'right' },
    { title: 'partner', shrinks: true },
    { title: 'cost data' },
  ] as const;
  return `${tableText(columns, rows, terminal)}\n${countText(found.length, 'partner')}`;
}
