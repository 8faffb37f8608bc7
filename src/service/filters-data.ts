/** Reads the catalog from filters-data, tolerantly. */

import { z } from 'zod';
import { Failure } from '../errors.ts';
import type { Catalog, CatalogFilter } from '../model/catalog.ts';
import type { CatalogItem } from '../model/catalog-item.ts';
import { encodeQuery } from './exchange.ts';
import { firstWords } from './error-words.ts';
import type { Channel } from './call.ts';
import { readJson } from './body.ts';
import type { FiltersDataRequest } from './service.ts';

/** Most characters quoted from an answer without the requested lists; leaves room for the words around them. */
const MAX_SAID_CHARACTERS = 140;

const text = z.unknown().transform((value) => {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
});

const knownFields = {
  id: text,
  name: text,
  short_name: text,
  section: text,
  formatting: text,
  description: text,
};
const itemSchema = z.object(knownFields).partial().catchall(z.unknown());

const answerSchema = z.record(z.string(), z.unknown());

/**
 * Requests filter items, see `Service.filtersData`. Halves a refused request until only the refused lists are skipped, as names
 * drift over the years. An answer without any list, such as an error object under 200, is `SOURCE_GARBLED`.
 */
export async function requestFiltersData(
  channel: Channel,
  request: FiltersDataRequest,
  signal: AbortSignal,
): Promise<Catalog> {
  const items: CatalogItem[] = [];
  let isAnswered = false;
  let refusal: Failure | null = null;
  const parts = [request.filters];
  for (let filters = parts.shift(); filters !== undefined; filters = parts.shift()) {
    try {
      items.push(...(await requestLists(channel, filters, request.section, signal)));
      isAnswered = true;
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'SOURCE_REFUSED')) throw error;
      refusal = error;
      const middle = Math.ceil(filters.length / 2);
      if (filters.length > 1) parts.unshift(filters.slice(0, middle), filters.slice(middle));
    }
  }
  if (!isAnswered && refusal !== null) throw refusal;
  return items;
}

async function requestLists(
  channel: Channel,
  filters: readonly CatalogFilter[],
  section: FiltersDataRequest['section'],
  signal: AbortSignal,
): Promise<Catalog> {
  const query = encodeQuery({
    required_filters: filters.join(','),
    ...(section === undefined ? {} : { section }),
  });
  const target = channel.targetOf(`/reports-service/filters_data${query}`);
  return channel.get(target, signal, async (answer, verdict) =>
    verdict === 'empty' ? [] : readJson(answer, listsSchema(filters)),
  );
}

/** The items of an answer in the order requested. */
function listsSchema(filters: readonly CatalogFilter[]) {
  return answerSchema.transform((answer, context) => {
    if (!filters.some((filter) => Array.isArray(answer[filter]))) {
      const words = firstWords(JSON.stringify(answer), MAX_SAID_CHARACTERS);
      context.addIssue({ code: 'custom', message: `none of the requested lists was in ${words}` });
    }
    return filters.flatMap((filter) => {
      const list = z.array(z.unknown()).safeParse(answer[filter]);
      return (list.data ?? []).flatMap((each) => {
        const { data } = itemSchema.safeParse(each);
        return data?.id ? [itemOf(filter, data)] : [];
      });
    });
  });
}

function itemOf(filter: CatalogFilter, found: z.output<typeof itemSchema>): CatalogItem {
  const {
    id = '',
    name = '',
    short_name: shortName = '',
    section = '',
    formatting = '',
    description = '',
  } = found;
  const others = Object.entries(found).filter(([field]) => !Object.hasOwn(knownFields, field));
  const attributes = others.length === 0 ? null : JSON.stringify(Object.fromEntries(others));
  return { filter, id, name, shortName, section, formatting, description, attributes };
}
