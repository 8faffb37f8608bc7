/**
 * A service whose reports by day hold exactly the rows a test states: what a query makes of them can be worked out by hand.
 *
 * Rows are as fine as the slice that asks for them; nothing is grouped, whatever the parameters.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Config } from '../../src/config/config.ts';
import type { CatalogFilter } from '../../src/model/catalog.ts';
import type { Partner } from '../../src/model/link.ts';
import type { Slice } from '../../src/model/slice.ts';
import { fromService } from '../../src/run/service-source.ts';
import type { Service } from '../../src/service/service.ts';
import { sync } from '../../src/sync.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Readable } from './contents.ts';
import { plainRequest } from './plain-request.ts';
import { httpService } from './scenario.ts';

/** Its day, its other dimensions and its metrics, as the wire has them; what is left out is NULL. */
export type StatedRow = Readonly<Record<string, string | null>> & { readonly day: string };

export interface StatedWorld extends Readable {
  /** Syncs at an instant what the service says then. Throws where anything failed. */
  night(asOf: Date, rows: readonly StatedRow[]): Promise<void>;
  close(): Promise<void>;
}

export async function openStated(slices: readonly Slice[], partners: readonly Partner[] = []): Promise<StatedWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-'));
  const config: Config = {
    file: join(directory, 'ripen.yaml'),
    service: httpService({ url: 'http://localhost:1' }),
    warehouse: join(directory, 'warehouse.duckdb'),
    publish: [],
    archiveMs: null,
    notify: [],
    audit: 0,
    partners: partners.length > 0,
    links: null,
    slices,
  };
  const emit = (): void => {};
  return {
    async night(asOf, rows) {
      const source = fromService(statedService(slices, rows, partners));
      const signal = AbortSignal.timeout(150_000);
      const request = { ...plainRequest, command: 'sync', asOf } as const;
      const { failures } = await sync(config, request, source, { emit, signal });
      for (const { message } of failures) throw new Error(message);
    },
    async inWarehouse(use) {
      const warehouse = await openWarehouse(config.warehouse, { mode: 'read', lockWaitMs: 0, emit });
      try {
        return await use(warehouse);
      } finally {
        await warehouse.close();
      }
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

function statedService(slices: readonly Slice[], stated: readonly StatedRow[], partners: readonly Partner[]): Service {
  const metrics = [...new Set(slices.flatMap((slice) => slice.metrics))];
  const notServed = (): never => {
    throw new Error('A stated service has reports, a catalog and partners only.');
  };
  return {
    async report({ date_period: period = '', dimensions = '', metrics: asked = '' }, saveAs) {
      const [first = '', last = ''] = period.split(':');
      const ids = asked.split(',');
      const names = [...dimensions.split(','), ...ids];
      const said = stated.filter(({ day }) => day >= first && day <= last);
      if (said.length === 0) return null;
      const rows = said.map((row) => ({
        attr_dependency: {},
        ...Object.fromEntries(names.map((name) => [name, row[name] ?? null])),
      }));
      const totals = Object.fromEntries(ids.map((id) => [id, totalOf(said.map((row) => row[id] ?? null))]));
      const body = Buffer.from(JSON.stringify({ rows, totals, warnings: [], pagination: null }));
      await writeFile(saveAs, body);
      return { path: saveAs, encoding: 'identity', bytes: body.length, plainBytes: body.length };
    },
    filtersData: ({ filters }) => Promise.resolve(filters.flatMap((filter) => itemsOf(filter, metrics))),
    async *partners() {
      yield await Promise.resolve(partners);
    },
    links: notServed,
    createLink: notServed,
    updateLink: notServed,
    submitSpend: notServed,
    statistics: () => ({ requests: 0, retries: 0, peakConcurrency: 1, bytes: 0 }),
    clockSkewMs: () => null,
    close: async () => {},
  };
}

/** Exact for values of at most six digits after the point. */
const totalOf = (values: readonly (string | null)[]): number =>
  values.reduce((sum, value) => sum + Math.round(Number(value ?? 0) * 1_000_000), 0) / 1_000_000;

const isCohort = (metric: string): boolean => /_[dwm]\d+$/.test(metric);

function itemsOf(filter: CatalogFilter, metrics: readonly string[]) {
  const listed = metrics.filter((metric) => filter === (isCohort(metric) ? 'cohort_metrics' : 'overview_metrics'));
  return listed.map((id) => {
    const formatting = /cost|revenue/.test(id) ? 'money' : 'integer';
    return { filter, id, name: id, shortName: '', section: '', formatting, description: '' };
  });
}
