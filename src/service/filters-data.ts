/** The catalog from filters-data, asked in as many calls as its URLs need and read tolerantly. */

import { z } from 'zod';
import type { CatalogFilter, CatalogItem } from '../model/catalog.ts';
import { encodeQuery, firstWords } from './exchange.ts';
import type { Channel } from './call.ts';
import { readJson } from './body.ts';
import type { FiltersData, FiltersDataRequest } from './service.ts';

/** Usual limits of proxies begin at 8 KiB for the whole request line (observed: long URLs). */
const MAX_QUERY_CHARACTERS = 6000;
/** Of an answer that is not what was asked for: room is left for the words around it. */
const MAX_SAID_CHARACTERS = 140;

const text = z.unknown().transform((value) => {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
});

const item = z
  .object({ id: text, name: text, short_name: text, section: text, formatting: text, description: text })
  .partial();

const answerSchema = z.record(z.string(), z.unknown());
const itemsSchema = z.array(item);

/**
 * Asks for filter items and returns those with an id, in the order asked for. An answer with none of the lists asked for,
 * an error object under 200 say, is `SOURCE_GARBLED`; 204 leaves them all absent.
 */
export async function askFiltersData(
  channel: Channel,
  request: FiltersDataRequest,
  signal: AbortSignal,
): Promise<FiltersData> {
  const items: CatalogItem[] = [];
  const absent: CatalogFilter[] = [];
  for (const query of queries(request)) {
    const target = channel.targetOf(`/reports-service/filters_data${encodeQuery(query.parameters)}`);
    const lists = await channel.get(target, signal, async (answer, verdict) =>
      verdict === 'empty'
        ? new Map<CatalogFilter, CatalogItem[]>()
        : readJson(answer, listsSchema(query.filters), channel.secrets),
    );
    for (const filter of query.filters) {
      const list = lists.get(filter);
      if (list === undefined) absent.push(filter);
      // One by one: a list may be longer than a call may have arguments.
      for (const each of list ?? []) if (each.id !== '') items.push(each);
    }
  }
  return { items, absent };
}

/** The lists of an answer, by filter name, in the order asked for. */
function listsSchema(filters: readonly CatalogFilter[]) {
  return answerSchema.transform((answer, context) => {
    const lists = new Map<CatalogFilter, CatalogItem[]>();
    for (const filter of filters) {
      const said = answer[filter] ?? null;
      if (said === null) continue;
      const found = itemsSchema.safeParse(said);
      if (found.success) {
        lists.set(
          filter,
          found.data.map((each) => itemOf(filter, each)),
        );
      } else context.addIssue({ code: 'custom', path: [filter], message: 'expected a list of filter items' });
    }
    if (lists.size === 0 && context.issues.length === 0) {
      const said = firstWords(JSON.stringify(answer), MAX_SAID_CHARACTERS);
      context.addIssue({ code: 'custom', message: `none of the lists asked for was in ${said}` });
    }
    return lists;
  });
}

function itemOf(filter: CatalogFilter, found: z.output<typeof item>): CatalogItem {
  return {
    filter,
    id: found.id ?? '',
    name: found.name ?? '',
    shortName: found.short_name ?? '',
    section: found.section ?? '',
    formatting: found.formatting ?? '',
    description: found.description ?? '',
  };
}

interface Query {
  readonly filters: readonly CatalogFilter[];
  readonly parameters: Readonly<Record<string, string>>;
}

/** The queries that together ask for every filter once, each as long as a URL may be. */
function queries(request: FiltersDataRequest): readonly Query[] {
  const done: Query[] = [];
  let filters: CatalogFilter[] = [];
  for (const filter of new Set(request.filters)) {
    const longer = queryOf([...filters, filter], request);
    if (filters.length > 0 && encodeQuery(longer.parameters).length > MAX_QUERY_CHARACTERS) {
      done.push(queryOf(filters, request));
      filters = [filter];
    } else {
      filters.push(filter);
    }
  }
  return filters.length === 0 ? done : [...done, queryOf(filters, request)];
}

function queryOf(filters: readonly CatalogFilter[], { section, contains }: FiltersDataRequest): Query {
  const parameters: Record<string, string> = { required_filters: filters.join(',') };
  if (section !== undefined) parameters['section'] = section;
  for (const filter of filters) {
    const part = contains?.[filter];
    if (part !== undefined) parameters[`${filter}__contains`] = part;
  }
  return { filters, parameters };
}
