/**
 * A service whose reports by day hold exactly the rows a test states: what a query makes of them can be worked out by hand.
 *
 * Rows are as fine as the slice that asks for them; nothing is grouped, whatever the parameters.
 */

import type { Partner } from '../../src/model/link.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { Readable } from './contents.ts';
import { openScenario } from './scenario.ts';
import { json, type Received, type Reply, startScriptedServer } from './scripted-server.ts';

/** Its day, its other dimensions and its metrics, as the wire has them; what is left out is NULL. */
export type StatedRow = Readonly<Record<string, string | null>> & { readonly day: string };

export interface StatedWorld extends Readable {
  /** Syncs at an instant what the service says then. Throws where anything failed. */
  night(asOf: Date, rows: readonly StatedRow[]): Promise<void>;
  close(): Promise<void>;
}

export async function openStated(
  slices: readonly Slice[],
  partners: readonly Partner[] = [],
): Promise<StatedWorld> {
  const metrics = [...new Set(slices.flatMap((slice) => slice.metrics))];
  let stated: readonly StatedRow[] = [];
  const server = await startScriptedServer(({ path, query }): Reply => {
    if (path.endsWith('/report')) return reportOf(query, stated);
    if (path.endsWith('/partners'))
      return json({ data: { items: partners.map(partnerItem), paging: {} } });
    const filters = (query.get('required_filters') ?? '').split(',');
    return json(Object.fromEntries(filters.map((filter) => [filter, itemsOf(filter, metrics)])));
  });
  const scenario = await openScenario(slices, {
    service: { baseUrl: server.origin, reportsUrl: server.origin },
  });
  return {
    async night(asOf, rows) {
      stated = rows;
      const { failures } = await scenario.night(asOf, { partners: partners.length > 0 });
      for (const { message } of failures) throw new Error(message);
    },
    inWarehouse: (use) => scenario.inWarehouse(use),
    async close() {
      await scenario.close();
      await server.close();
    },
  };
}

function reportOf(query: Received['query'], stated: readonly StatedRow[]): Reply {
  const [first = '', last = ''] = (query.get('date_period') ?? '').split(':');
  const ids = (query.get('metrics') ?? '').split(',');
  const names = [...(query.get('dimensions') ?? '').split(','), ...ids];
  const said = stated.filter(({ day }) => day >= first && day <= last);
  if (said.length === 0) return { status: 204 };
  const rows = said.map((row) => ({
    attr_dependency: {},
    ...Object.fromEntries(names.map((name) => [name, row[name] ?? null])),
  }));
  const totals = Object.fromEntries(
    ids.map((id) => [id, totalOf(said.map((row) => row[id] ?? null))]),
  );
  return json({ rows, totals, warnings: [], pagination: null });
}

const partnerItem = ({ id, displayName, supportsCostData }: Partner): object => ({
  id,
  display_name: displayName,
  supports_cost_data: supportsCostData,
});

/** Exact for values of at most six digits after the point. */
const totalOf = (values: readonly (string | null)[]): number =>
  values.reduce((sum, value) => sum + Math.round(Number(value ?? 0) * 1_000_000), 0) / 1_000_000;

const isCohort = (metric: string): boolean => /_[dwm]\d+$/.test(metric);

function itemsOf(filter: string, metrics: readonly string[]): object[] {
  return metrics
    .filter((metric) => filter === (isCohort(metric) ? 'cohort_metrics' : 'overview_metrics'))
    .map((id) => ({ id, name: id, formatting: /cost|revenue/.test(id) ? 'money' : 'integer' }));
}
