/**
 * The crawl of one app: its networks, then level by level the sub-links of whatever has some.
 *
 * Hides the order of requests, and promises that none is avoidable: a link without sub-links is never asked for them,
 * neither is one at the deepest level wanted, and no link is asked twice.
 */

import { Failure } from '../errors.ts';
import type { Link } from '../model/link.ts';
import { eachInParallel } from './in-parallel.ts';

/** Keeps the campaign API's own limit busy; what exceeds it waits there. */
const LISTINGS_AT_ONCE = 8;

export interface Crawl {
  readonly maxLevel: number;
  /** Pages of the app's networks, or of a link's sub-links. */
  readonly list: (parent: string | null) => AsyncIterable<readonly Link[]>;
  readonly keep: (parent: string | null, links: readonly Link[]) => Promise<void>;
}

/**
 * Lists every link of an app down to a level; returns how many pages that took. Throws what listing throws, and
 * `DATA_INCOMPLETE` when a listed link vanished before its sub-links were listed.
 */
export async function crawlApp({ maxLevel, list, keep }: Crawl): Promise<number> {
  let requests = 0;
  const asked = new Set<string>();
  let parents: readonly (string | null)[] = [null];
  for (let level = 1; level <= maxLevel && parents.length > 0; level += 1) {
    const below: string[] = [];
    await eachInParallel(parents, LISTINGS_AT_ONCE, async (parent) => {
      let pages = 0;
      for await (const links of listedBelow(list, parent)) {
        pages += 1;
        await keep(parent, links);
        if (level === maxLevel) continue;
        for (const { token, hasSubtrackers } of links) {
          if (!hasSubtrackers || asked.has(token)) continue;
          asked.add(token);
          below.push(token);
        }
      }
      // A list that turns out to be empty took a page as well.
      requests += Math.max(1, pages);
    });
    parents = below;
  }
  return requests;
}

async function* listedBelow(list: Crawl['list'], parent: string | null): AsyncGenerator<readonly Link[], void> {
  try {
    yield* list(parent);
  } catch (error) {
    if (parent === null || !(error instanceof Failure) || error.code !== 'SOURCE_MISSING') throw error;
    throw new Failure('DATA_INCOMPLETE', `The link ${parent} vanished while its app's links were listed`, {
      facts: { link: parent },
      hint: 'Run again: links were being removed during the crawl.',
      cause: error,
    });
  }
}
