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
 * Asks for filter items and returns those with an id, in the order asked for. What is answered in place of a list leaves that list
 * absent. An answer with none of the lists asked for, an error object under 200 say, is `SOURCE_GARBLED`; 204 leaves them all absent.
 */
export async function askFiltersData(
  channel: Channel,
  request: FiltersDataRequest,
  signal: AbortSignal,
): Promise<FiltersData> {
  const items: CatalogItem[] = [];
  const absent: CatalogFilter[] = [];
  const malformed = new Map<CatalogFilter, string>();
  for (const query of queries(request)) {
    const target = channel.targetOf(`/reports-service/filters_data${encodeQuery(query.parameters)}`);
    const lists = await channel.get(target, signal, async (answer, verdict) =>
      verdict === 'empty'
        ? new Map<CatalogFilter, CatalogItem[] | string>()
        : readJson(answer, listsSchema(query.filters), channel.secrets),
    );
    for (const filter of query.filters) {
      const list = lists.get(filter);
      if (typeof list === 'string') malformed.set(filter, list);
      if (list === undefined || typeof list === 'string') {
        absent.push(filter);
        continue;
      }
      // One by one: a list may be longer than a call may have arguments.
      for (const each of list) if (each.id !== '') items.push(each);
    }
  }
  return { items, absent, ...(malformed.size > 0 ? { malformed } : {}) };
}

/** The lists of an answer, or what stood in the place of one, by filter name, in the order asked for. */
function listsSchema(filters: readonly CatalogFilter[]) {
  return answerSchema.transform((answer, context) => {
    const lists = new Map<CatalogFilter, CatalogItem[] | string>();
    for (const filter of filters) {
      const said = answer[filter] ?? null;
      if (said === null) continue;
      const found = itemsSchema.safeParse(said);
      lists.set(filter, found.success ? found.data.map((each) => itemOf(filter, each)) : noList(filter, said));
    }
    if ([...lists.values()].every((list) => typeof list === 'string')) {
      const said = firstWords(JSON.stringify(answer), MAX_SAID_CHARACTERS);
      context.addIssue({ code: 'custom', message: `none of the lists asked for was in ${said}` });
    }
    return lists;
  });
}

/** What was answered in place of a list of items. */
function noList(filter: CatalogFilter, said: unknown): string {
  const words = (value: unknown): string => firstWords(JSON.stringify(value), MAX_SAID_CHARACTERS);
  if (!Array.isArray(said)) return `${filter} (it was ${words(said)})`;
  const items: readonly unknown[] = said;
  const at = items.findIndex((each) => !item.safeParse(each).success);
  return `${filter} (item ${at + 1} of ${items.length} was ${words(items[at])})`;
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
