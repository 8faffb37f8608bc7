/** Which apps a refresh of the links is about. */

import * as z from 'zod';

import type { Links } from '../config/config.ts';
import { timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { readLiveSlices } from './live-slices.ts';

export interface ChosenApp {
  readonly token: string;
  /** Named by the catalog or the configuration; others only by loaded rows, so that the service may not know them. */
  readonly isNamed: boolean;
}

export interface ChosenApps {
  /** To be crawled, in order of their tokens. */
  readonly apps: readonly ChosenApp[];
  /** Apps with stored links that nothing names any more; empty when the configuration lists the apps. */
  readonly left: readonly string[];
}

/** The forms of an app token (observed: Campaign API); rows may hold `unknown` in its place. */
const APP_TOKEN = /^[A-Za-z0-9]{10,12}$/;

const appRow = z.object({ app_token: z.string() }).transform((row) => row.app_token);

/** The apps to crawl: without those whose complete crawl of this instant, or of a later one, is stored already. */
export async function chooseApps(warehouse: Warehouse, links: Links, asOf: Date): Promise<ChosenApps> {
  const done = await warehouse.rows(statement('links/crawled_apps'), [timestamp(asOf), links.maxLevel], appRow);
  const isDue = ({ token }: ChosenApp): boolean => !done.includes(token);
  if (links.apps !== 'all') {
    const tokens = [...new Set(links.apps)].toSorted();
    return { apps: tokens.map((token) => ({ token, isNamed: true })).filter(isDue), left: [] };
  }
  const listed = new Set(await warehouse.rows(statement('links/catalog_apps'), [], appRow));
  const loaded = (await loadedApps(warehouse)).filter((token) => APP_TOKEN.test(token));
  const tokens = new Set([...listed, ...loaded]);
  const apps = [...tokens].toSorted().map((token) => ({ token, isNamed: listed.has(token) }));
  const stored = await warehouse.rows(statement('links/linked_apps'), [], appRow);
  return { apps: apps.filter(isDue), left: stored.filter((token) => !tokens.has(token)) };
}

async function loadedApps(warehouse: Warehouse): Promise<string[]> {
  const slices = (await readLiveSlices(warehouse)).filter(({ columns }) => columns.includes('app_token'));
  if (slices.length === 0) return [];
  const tokens = slices.map(({ table }) => `select app_token from ${table} where app_token is not null`);
  return warehouse.rows(tokens.join('\nunion\n'), [], appRow);
}
