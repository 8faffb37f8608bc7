/** Reads the catalog from filters-data, tolerantly. */

import { z } from 'zod';
import { Failure, type FailureCode } from '../errors.ts';
import type { Catalog, CatalogFilter } from '../model/catalog.ts';
import type { CatalogItem } from '../model/catalog-item.ts';
import { encodeQuery } from './exchange.ts';
import { firstWords } from './error-words.ts';
import type { Channel } from './call.ts';
import { readJson } from './body.ts';
import type { FiltersDataRequest } from './service.ts';

const MAX_SAID_CHARACTERS = 140;

const text = z.unknown().transform((value) => {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
});

const itemSchema = z
  .object({
    id: text,
    name: text,
    short_name: text,
    section: text,
    formatting: text,
    description: text,
  })
  .partial()
  .catchall(z.unknown());

const refusals: ReadonlySet<FailureCode> = new Set(['SOURCE_REFUSED', 'ACCESS_FORBIDDEN']);

/** Halves a refused request until only the refused lists are skipped: their names drift over the years, and some may be forbidden. */
export async function requestFiltersData(
  channel: Channel,
  { filters: wanted, section, onRefused = () => {} }: FiltersDataRequest,
  signal: AbortSignal,
): Promise<Catalog> {
  const items: CatalogItem[] = [];
  let isAnswered = false;
  let forbidden = 0;
  let refusal: Failure | null = null;
  const parts = [wanted];
  for (let filters = parts.shift(); filters !== undefined; filters = parts.shift()) {
    const query = encodeQuery({
      required_filters: filters.join(','),
      ...(section === undefined ? {} : { section }),
    });
    const schema = listsSchema(filters);
    const target = channel.targetOf(`/reports-service/filters_data${query}`);
    try {
      const part = await channel.request(target, signal, async (answer, verdict) =>
        verdict === 'empty' ? [] : readJson(answer, schema),
      );
      items.push(...part);
      isAnswered = true;
    } catch (error) {
      if (!(error instanceof Failure && refusals.has(error.code))) throw error;
      refusal = error;
      const [first, ...others] = filters;
      if (error.code === 'ACCESS_FORBIDDEN') forbidden += 1;
      // The whole, both halves, and one list alone: so is everything.
      if (forbidden === 4 && !isAnswered) break;
      if (forbidden === 3 && !isAnswered) parts.unshift(wanted.slice(0, 1));
      const middle = Math.ceil(filters.length / 2);
      if (others.length > 0) parts.push(filters.slice(0, middle), filters.slice(middle));
      else if (first !== undefined) onRefused(first, error);
    }
  }
  if (!isAnswered && refusal !== null) throw refusal;
  // One list may have been asked for twice.
  const byKey = new Map(items.map((item) => [`${item.filter} ${item.id}`, item]));
  return wanted.flatMap((filter) => [...byKey.values()].filter((item) => item.filter === filter));
}

function listsSchema(filters: readonly CatalogFilter[]) {
  return z.record(z.string(), z.unknown()).transform((answer, context): CatalogItem[] => {
    if (!filters.some((filter) => Array.isArray(answer[filter]))) {
      const words = firstWords(JSON.stringify(answer), MAX_SAID_CHARACTERS);
      context.addIssue({ code: 'custom', message: `none of the requested lists was in ${words}` });
    }
    return filters.flatMap((filter) => {
      const list = answer[filter];
      return (Array.isArray(list) ? list : []).flatMap((entry): CatalogItem[] => {
        const { data } = itemSchema.safeParse(entry);
        if (data === undefined || !data.id) return [];
        const { id, name = '', short_name: shortName = '', ...rest } = data;
        const { section = '', formatting = '', description = '', ...others } = rest;
        const attributes = Object.keys(others).length === 0 ? null : JSON.stringify(others);
        return [{ filter, id, name, shortName, section, formatting, description, attributes }];
      });
    });
  });
}
