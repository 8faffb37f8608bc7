/** The catalog from filters-data, asked in as many calls as its URLs need and read tolerantly. */

import { z } from 'zod';
import { Failure } from '../errors.ts';
import type { CatalogFilter, CatalogItem } from '../model/catalog.ts';
import { encodeQuery } from './exchange.ts';
import { firstWords } from './setback.ts';
import type { Channel } from './call.ts';
import { readJson } from './body.ts';
import type { FiltersData, FiltersDataRequest, ListFault } from './service.ts';

/** Usual limits of proxies begin at 8 KiB for the whole request line (observed: long URLs). */
const MAX_QUERY_CHARACTERS = 6000;
/** Of an answer that is not what was asked for: room is left for the words around it. */
const MAX_SAID_CHARACTERS = 140;

const text = z.unknown().transform((value) => {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
});

const knownFields = { id: text, name: text, short_name: text, section: text, formatting: text, description: text };
const itemSchema = z.object(knownFields).partial().catchall(z.unknown());

const answerSchema = z.record(z.string(), z.unknown());

/**
 * Requests filter items and returns those with an id, in the order requested. What is answered in place of a list leaves that
 * list out; what stands in place of an item costs that item. An answer with none of the lists, an error object under 200 say,
 * is `SOURCE_GARBLED`; 204 leaves them all out.
 */
export async function askFiltersData(
  channel: Channel,
  request: FiltersDataRequest,
  signal: AbortSignal,
): Promise<FiltersData> {
  const lists: FiltersData[] = [];
  for (const filters of shortEnough(request)) lists.push(...(await askLists(channel, filters, request, signal)));
  return { items: lists.flatMap(({ items }) => items), faults: lists.flatMap(({ faults }) => faults) };
}

/** Lists of one query. A refused query is divided until only the refused names are left out: names drift over the years. */
async function askLists(
  channel: Channel,
  filters: readonly CatalogFilter[],
  request: FiltersDataRequest,
  signal: AbortSignal,
): Promise<FiltersData[]> {
  const target = channel.targetOf(`/reports-service/filters_data${queryOf(filters, request)}`);
  try {
    return await channel.get(target, signal, async (answer, verdict) =>
      verdict === 'empty'
        ? filters.map((filter) => faulty(filter, 'absent'))
        : readJson(answer, listsSchema(filters), channel.secrets),
    );
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'SOURCE_REFUSED')) throw error;
    const { said } = error.facts;
    const parts = divided(filters, typeof said === 'string' ? said : '');
    if (parts === null) {
      if (request.filters.length === 1) throw error;
      return filters.map((filter) => faulty(filter, 'refused', ` (${error.message})`));
    }
    const answers: FiltersData[] = [];
    for (const part of parts) answers.push(...(await askLists(channel, part, request, signal)));
    if (filters.length === request.filters.length && answers.every(isRefused)) throw error;
    return answers;
  }
}

const isRefused = ({ faults }: FiltersData): boolean => faults.some(({ kind }) => kind === 'refused');

/** The names that a refusal blames and the others; two halves if it blames none or all; null for a single one. */
function divided(filters: readonly CatalogFilter[], said: string): (readonly CatalogFilter[])[] | null {
  if (filters.length === 1) return null;
  const words = new Set(said.match(/\w+/g));
  const blamed = filters.filter((filter) => words.has(filter));
  const isTelling = blamed.length > 0 && blamed.length < filters.length;
  if (isTelling) return [blamed, filters.filter((filter) => !words.has(filter))];
  const middle = Math.ceil(filters.length / 2);
  return [filters.slice(0, middle), filters.slice(middle)];
}

const faulty = (filter: CatalogFilter, kind: ListFault['kind'], found = ''): FiltersData => ({
  items: [],
  faults: [{ filter, kind, found }],
});

/** The lists of an answer in the order requested. */
function listsSchema(filters: readonly CatalogFilter[]) {
  return answerSchema.transform((answer, context) => {
    const lists = filters.map((filter) => listIn(filter, answer[filter] ?? null));
    if (lists.every(({ faults }) => faults.some(({ kind }) => kind !== 'bad items'))) {
      const said = firstWords(JSON.stringify(answer), MAX_SAID_CHARACTERS);
      context.addIssue({ code: 'custom', message: `none of the lists asked for was in ${said}` });
    }
    return lists;
  });
}

/** The items of a list that are items. */
function listIn(filter: CatalogFilter, said: unknown): FiltersData {
  const words = (value: unknown): string => firstWords(JSON.stringify(value), MAX_SAID_CHARACTERS);
  if (said === null) return faulty(filter, 'absent');
  if (!Array.isArray(said)) return faulty(filter, 'malformed', ` (it was ${words(said)})`);
  const all: readonly unknown[] = said;
  const read = all.map((each) => itemSchema.safeParse(each));
  const items = read.flatMap(({ success, data }) => (success && data.id ? [itemOf(filter, data)] : []));
  const bad = all.filter((_, at) => read[at]?.success === false);
  if (bad.length === 0) return { items, faults: [] };
  const more = bad.length === 1 ? '' : `, and ${bad.length - 1} more`;
  const first = read.findIndex(({ success }) => !success);
  const found = ` (item ${first + 1} of ${all.length} was ${words(bad[0])}${more})`;
  return { items, faults: [{ filter, kind: bad.length === all.length ? 'malformed' : 'bad items', found }] };
}

function itemOf(filter: CatalogFilter, found: z.output<typeof itemSchema>): CatalogItem {
  const { id = '', name = '', short_name: shortName = '', section = '', formatting = '', description = '' } = found;
  const others = Object.entries(found).filter(([field]) => !Object.hasOwn(knownFields, field));
  const attributes = others.length === 0 ? null : JSON.stringify(Object.fromEntries(others));
  return { filter, id, name, shortName, section, formatting, description, attributes };
}

/** The filters, divided so that each part makes a URL that proxies let pass. */
function shortEnough(request: FiltersDataRequest): CatalogFilter[][] {
  const parts: CatalogFilter[][] = [];
  for (const filter of new Set(request.filters)) {
    const last = parts.at(-1);
    if (last === undefined || queryOf([...last, filter], request).length > MAX_QUERY_CHARACTERS) parts.push([filter]);
    else last.push(filter);
  }
  return parts;
}

function queryOf(filters: readonly CatalogFilter[], { section, contains }: FiltersDataRequest): string {
  const parameters: Record<string, string> = { required_filters: filters.join(',') };
  if (section !== undefined) parameters['section'] = section;
  for (const filter of filters) {
    const part = contains?.[filter];
    if (part !== undefined) parameters[`${filter}__contains`] = part;
  }
  return encodeQuery(parameters);
}
