/**
 * Listed links on their way into the warehouse: staged in batches while an app is crawled, so that memory holds a batch
 * and never a tree.
 */

import type { Link } from '../model/link.ts';
import { statement, storable } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Turn } from './in-parallel.ts';

/** A few hundred kilobytes of JSON: one statement, and the main thread is busy for milliseconds only. */
const BATCH_ROWS = 500;

/** Forgets whatever is staged for an app, also what a killed run left. */
export async function clearStaged(warehouse: Warehouse, appToken: string): Promise<void> {
  await warehouse.run(statement('links/forget_staged_links'), [appToken]);
  await warehouse.run(statement('links/forget_staged_tree'), [appToken]);
}

export class StagedLinks {
  readonly #warehouse: Warehouse;
  readonly #turn: Turn;
  readonly #appToken: string;
  #batch: Readonly<Record<string, unknown>>[] = [];
  /** 0 is left to links that are stored already. */
  #nextSeen = 1;

  constructor(warehouse: Warehouse, turn: Turn, appToken: string) {
    this.#warehouse = warehouse;
    this.#turn = turn;
    this.#appToken = appToken;
  }

  /** Adds links as listed below a parent; of a link added twice the later one counts. Waits when a batch is full. */
  async add(parent: string | null, links: readonly Link[]): Promise<void> {
    for (const link of links) this.#batch.push(rowOf(parent, link));
    if (this.#batch.length >= BATCH_ROWS) await this.flush();
  }

  /** Stages what is left. */
  async flush(): Promise<void> {
    const batch = this.#batch.map((row, position) => ({ ...row, position }));
    if (batch.length === 0) return;
    const firstSeen = this.#nextSeen;
    this.#nextSeen += batch.length;
    this.#batch = [];
    await this.#turn(() =>
      this.#warehouse.run(statement('links/stage_links'), [this.#appToken, JSON.stringify(batch), firstSeen]),
    );
  }
}

function rowOf(parent: string | null, link: Link): Readonly<Record<string, unknown>> {
  return {
    token: link.token,
    parent_token: parent,
    level: link.level,
    name: storable(link.name),
    label: storable(link.label),
    archived: link.archived,
    has_subtrackers: link.hasSubtrackers,
    partner_id: link.partnerId,
    cost_data_enabled: link.costDataEnabled,
    url: link.url === null ? null : storable(link.url),
    click_url: link.clickUrl === null ? null : storable(link.clickUrl),
    impression_url: link.impressionUrl === null ? null : storable(link.impressionUrl),
  };
}
