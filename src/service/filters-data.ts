/** The catalog from filters-data, asked in as many calls as its URLs need and read tolerantly. */

import { z } from 'zod';
import type { CatalogFilter, CatalogItem } from '../model/catalog.ts';
import { encodeQuery } from './exchange.ts';
import { firstWords } from './setback.ts';
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

/** A list as it was answered. */
interface ListAnswered {
  readonly items: readonly CatalogItem[];
  /** What stood in place of a list, or of items of it; null where all of them were read. */
  readonly unread: string | null;
}

/**
 * Asks for filter items and returns those with an id, in the order asked for. What is answered in place of a list leaves that list
 * absent; what stands in place of an item costs that item. An answer with none of the lists asked for, an error object under 200 say,
 * is `SOURCE_GARBLED`; 204 leaves them all absent.
 */
export async function askFiltersData(
  channel: Channel,
  request: FiltersDataRequest,
  signal: AbortSignal,
): Promise<FiltersData> {
  const items: CatalogItem[] = [];
  const absent: CatalogFilter[] = [];
  const [malformed, lacking] = [new Map<CatalogFilter, string>(), new Map<CatalogFilter, string>()];
  for (const query of queries(request)) {
    const target = channel.targetOf(`/reports-service/filters_data${encodeQuery(query.parameters)}`);
    const lists = await channel.get(target, signal, async (answer, verdict) =>
      verdict === 'empty'
        ? new Map<CatalogFilter, ListAnswered>()
        : readJson(answer, listsSchema(query.filters), channel.secrets),
    );
    for (const filter of query.filters) {
      const list = lists.get(filter);
      if (list === undefined || isNoList(list)) absent.push(filter);
      if (list === undefined) continue;
      if (list.unread !== null) (isNoList(list) ? malformed : lacking).set(filter, list.unread);
      // One by one: a list may be longer than a call may have arguments.
      for (const each of list.items) if (each.id !== '') items.push(each);
    }
  }
  return { items, absent, ...(malformed.size > 0 ? { malformed } : {}), ...(lacking.size > 0 ? { lacking } : {}) };
}

/** The lists of an answer, or what stood in the place of one, by filter name, in the order asked for. */
function listsSchema(filters: readonly CatalogFilter[]) {
  return answerSchema.transform((answer, context) => {
    const lists = new Map<CatalogFilter, ListAnswered>();
    for (const filter of filters) {
      const said = answer[filter] ?? null;
      if (said === null) continue;
      lists.set(filter, listIn(filter, said));
    }
    if ([...lists.values()].every(isNoList)) {
      const said = firstWords(JSON.stringify(answer), MAX_SAID_CHARACTERS);
      context.addIssue({ code: 'custom', message: `none of the lists asked for was in ${said}` });
    }
    return lists;
  });
}

const isNoList = ({ items, unread }: ListAnswered): boolean => unread !== null && items.length === 0;

/** The items of a list, without what is none. */
function listIn(filter: CatalogFilter, said: unknown): ListAnswered {
  const words = (value: unknown): string => firstWords(JSON.stringify(value), MAX_SAID_CHARACTERS);
  if (!Array.isArray(said)) return { items: [], unread: `${filter} (it was ${words(said)})` };
  const all: readonly unknown[] = said;
  const items: CatalogItem[] = [];
  const bad: number[] = [];
  for (const [at, each] of all.entries()) {
    const found = item.safeParse(each);
    if (found.success) items.push(itemOf(filter, found.data));
    else bad.push(at);
  }
  const [first, ...others] = bad;
  if (first === undefined) return { items, unread: null };
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return { items, unread: `${filter} (item ${first + 1} of ${all.length} was ${words(all[first])}${more})` };
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
