/** A simulator, a connection and an open warehouse, and the tree of links as it is beside the tree as it is stored. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import type { HttpService } from '../../src/config/config.ts';
import type { Failure } from '../../src/errors.ts';
import type { RunEvent } from '../../src/events.ts';
import { refreshLinks } from '../../src/account/refresh-links.ts';
import type { Refreshing } from '../../src/account/replace-rows.ts';
import { connect } from '../../src/service/connect.ts';
import { machineClock } from '../../src/service/machine-clock.ts';
import type { Service } from '../../src/service/service.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './simulator/simulator.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { closedOnce } from './closing.ts';
import { httpService, TOKEN } from './scenario.ts';

export interface LinksScene {
  readonly simulator: Simulator;
  readonly service: Service;
  readonly warehouse: Warehouse;
  readonly events: RunEvent[];
  /** What a stage is called with at an instant. */
  run(asOf: string, signal?: AbortSignal): Refreshing;
  /** Crawls every app of the world. */
  crawl(asOf: string, maxLevel?: number): Promise<readonly Failure[]>;
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

export async function openLinksScene(
  options: Partial<SimulatorOptions> = {},
  change: Partial<HttpService> = {},
): Promise<LinksScene> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-'));
  const simulator = await startSimulator({ token: TOKEN, ...options });
  const events: RunEvent[] = [];
  const emit = (event: RunEvent): void => void events.push(event);
  const service = connect(httpService(simulator, { maxStartsPerSecond: 100_000, ...change }), emit);
  const warehouse = await openWarehouse(join(directory, 'warehouse.duckdb'), {
    mode: 'write',
    lockWaitMs: 0,
    emit,
  });
  const run = (asOf: string, signal = new AbortController().signal): Refreshing => ({
    warehouse,
    service,
    clock: machineClock(service, new Date(asOf), emit),
    runId: 'run',
    planAt: new Date(asOf),
    emit,
    signal,
  });
  return {
    simulator,
    service,
    warehouse,
    events,
    run,
    crawl: (asOf, maxLevel = 4) =>
      refreshLinks(run(asOf), {
        apps: simulator.world.apps.map(({ token }) => token),
        maxLevel,
        everyMs: 0,
      }),
    rows: (sql) => warehouse.rows(sql, [], z.record(z.string(), z.unknown())),
    close: closedOnce(async () => {
      await warehouse.close();
      await service.close();
      await simulator.close();
      await rm(directory, { recursive: true, force: true });
    }),
  };
}

/** A row of `main.links`. */
export type StoredLink = Readonly<Record<string, unknown>>;

/** `main.links`, by token. */
export async function storedTree(scene: LinksScene): Promise<StoredLink[]> {
  return [...(await scene.rows('select * from main.links order by token'))];
}

/** The links of the simulator as they stand now and as `main.links` should hold them, by token. */
export function trueTree({ simulator }: LinksScene, maxLevel = 4): StoredLink[] {
  const { links, world } = simulator;
  const found: StoredLink[] = [];
  const collect = (
    appToken: string,
    parent: string | null,
    labels: readonly string[],
    root: string | null,
  ): void => {
    if (labels.length === maxLevel) return;
    for (const { item } of links.list(appToken, parent)) {
      const path = [...labels, item.label];
      const inherited = parent === null ? null : links.partnerOf(parent);
      found.push({
        token: item.token,
        app_token: appToken,
        parent_token: parent,
        root_token: root ?? item.token,
        level: path.length,
        name: item.name,
        label: item.label,
        archived: item.archived,
        has_subtrackers: links.list(appToken, item.token).length > 0,
        partner_id: item.partner_id === null ? null : String(item.partner_id),
        inherited_partner_id: inherited === null ? null : String(inherited),
        cost_data_enabled: item.cost_data_enabled,
        url: item.url,
        click_url: item.click_url,
        impression_url: item.impression_url,
        network_name: path[0],
        campaign_name: path[1] ?? null,
        adgroup_name: path[2] ?? null,
        creative_name: path[3] ?? null,
      });
      collect(appToken, item.token, path, root ?? item.token);
    }
  };
  for (const app of world.apps) collect(app.token, null, [], null);
  return found.toSorted((one, other) => (String(one['token']) < String(other['token']) ? -1 : 1));
}

/** Tokens whose link differs between two trees, or is in one of them only. */
export function changedTokens(
  before: readonly StoredLink[],
  after: readonly StoredLink[],
): Set<string> {
  const texts = (tree: readonly StoredLink[]): Map<string, string> =>
    new Map(tree.map((link) => [String(link['token']), JSON.stringify(link)]));
  const [old, fresh] = [texts(before), texts(after)];
  return new Set(
    [...old.keys(), ...fresh.keys()].filter((token) => old.get(token) !== fresh.get(token)),
  );
}
