/** `ripen catalog`: what filters-data lists, searchable. */

import { catalogFilters, type CatalogItem } from '../model/catalog.ts';
import { formatColumnType } from '../model/column-type.ts';
import { formatDuration } from '../model/duration.ts';
import { isMetricItem, metricOf, type Metric } from '../model/metric.ts';
import type { Service } from '../service/service.ts';
import { askService } from './ask.ts';
import { countText } from './measure.ts';
import type { GlobalArguments, Shell } from './shell.ts';
import { tableText } from './table.ts';

export interface CatalogArguments extends GlobalArguments {
  readonly word: string | undefined;
}

/** Prints every item, or those that hold the word. */
export async function catalog(args: CatalogArguments, shell: Shell): Promise<number> {
  return askService(args, shell, {
    name: 'catalog',
    ask: async (service, signal) => listedItems(service, args.word ?? '', signal),
    asText: catalogText,
  });
}

/** The items of every list whose id or names hold the word, whatever its case; all for an empty word. */
export async function listedItems(service: Service, word: string, signal: AbortSignal): Promise<CatalogItem[]> {
  const wanted = word.toLowerCase();
  const items = await service.filtersData({ filters: catalogFilters }, signal);
  return items.filter((item) =>
    [item.id, item.name, item.shortName].some((said) => said.toLowerCase().includes(wanted)),
  );
}

function catalogText(found: readonly CatalogItem[]): string {
  const columns = [
    { title: 'filter' },
    { title: 'id' },
    { title: 'name' },
    { title: 'section' },
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
  return `${tableText(columns, rows)}\n${countText(found.length, 'item')}`;
}

/** How ripen treats a metric: its horizon, whether its values add up over rows, the type of its column. */
function settlingCells({ horizonMs, additive, type }: Metric): string[] {
  const horizon = horizonMs === null ? 'never' : formatDuration(horizonMs);
  return [horizon, additive ? 'yes' : 'no', formatColumnType(type)];
}
