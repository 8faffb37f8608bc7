/** `ripen catalog`: what filters-data lists, searchable. */

import type { Emit } from '../events.ts';
import { catalogFilters, metricFilterNames, type CatalogItem, type CatalogSection } from '../model/catalog.ts';
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
  readonly section: CatalogSection | undefined;
}

export interface CatalogSearch {
  /** Part of an id or a name; empty for every item. */
  readonly word: string;
  /** A section of the metrics, the only ones to be listed then; null for all. */
  readonly section: CatalogSection | null;
}

/** Prints every item, or those that hold the word; of metrics one section, if asked for. */
export async function catalog(args: CatalogArguments, shell: Shell): Promise<number> {
  return askService(args, shell, {
    name: 'catalog',
    ask: async (service, signal, emit) =>
      listedItems(service, { word: args.word ?? '', section: args.section ?? null }, emit, signal),
    asText: catalogText,
    asFields: ({ filter, id, name, shortName, section, formatting, description }) => ({
      filter,
      id,
      name,
      short_name: shortName,
      section,
      formatting,
      description,
    }),
  });
}

/** The items of every list whose id or names hold the word, whatever its case; all for an empty word. */
export async function listedItems(
  service: Service,
  { word, section }: CatalogSearch,
  emit: Emit,
  signal: AbortSignal,
): Promise<CatalogItem[]> {
  const wanted = word.toLowerCase();
  const request = section === null ? { filters: catalogFilters } : { filters: metricFilterNames, section };
  const { items, absent } = await service.filtersData(request, signal);
  if (absent.length > 0) {
    const message = `filters-data did not answer for ${absent.join(', ')}.`;
    emit({ type: 'warning', code: 'CATALOG_LIST_ABSENT', slice: null, window: null, message });
  }
  // Searched here: the service's own search leaves short names out.
  return items.filter((item) =>
    [item.id, item.name, item.shortName].some((said) => said.toLowerCase().includes(wanted)),
  );
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
