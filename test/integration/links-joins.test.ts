import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { refreshJoins } from '../../src/account/joins.ts';
import { refreshLinks } from '../../src/account/refresh-links.ts';
import { completePartners, refreshPartners } from '../../src/account/refresh-partners.ts';
import { connect } from '../../src/service/connect.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { statement } from '../../src/warehouse/sql.ts';
import { machineClock } from '../../src/service/machine-clock.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { httpService, openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const asOf = new Date('2026-06-01T02:30:00Z');
const days = { first: { daysAgo: 6 }, last: { daysAgo: 1 } };
const metrics = ['installs', 'clicks'];
const labels = ['network', 'campaign', 'adgroup', 'creative'];

const whole = slice({
  name: 'whole',
  dimensions: ['day', 'app_token', ...labels],
  metrics,
  datePeriod: days,
});
const campaigns = slice({
  name: 'campaigns',
  dimensions: ['week', 'app_token', 'partner_name', 'network', 'campaign'],
  metrics,
  datePeriod: days,
});
const partnersOnly = slice({
  name: 'partners_only',
  dimensions: ['day', 'partner_id', 'partner_name'],
  metrics,
  datePeriod: days,
});
const byCountry = slice({
  name: 'by_country',
  dimensions: ['day', 'country_code'],
  metrics,
  datePeriod: days,
});

const row = z.record(z.string(), z.unknown());

type Rows = (sql: string) => Promise<z.infer<typeof row>[]>;

/** Crawls and joins in the warehouse of the scenario, then lets a test look. */
async function joined(look: (rows: Rows, warehouse: Warehouse) => Promise<void>): Promise<void> {
  const emit = (): void => {};
  const service = connect(httpService(scenario.simulator), emit);
  const warehouse = await openWarehouse(scenario.config.warehouse, {
    mode: 'write',
    lockWaitMs: 0,
    emit,
  });
  try {
    const clock = machineClock(service, asOf, emit);
    const run = {
      warehouse,
      service,
      clock,
      runId: 'run',
      planAt: asOf,
      emit,
      signal: new AbortController().signal,
    };
    await refreshPartners(run);
    expect(await refreshLinks(run, { apps: 'all', maxLevel: 4, everyMs: 0 })).toEqual([]);
    await refreshJoins(warehouse);
    await look((sql) => warehouse.rows(sql, [], row), warehouse);
  } finally {
    await warehouse.close();
    await service.close();
  }
}

/** The queries about links that analysts are given. */
function queriesOfLinks(): readonly string[] {
  const page = readFileSync(new URL('../../docs/reading.md', import.meta.url), 'utf8');
  const [, part = ''] = page.split('\n## Links and partners\n');
  const [text = ''] = part.split('\n## ');
  return [...text.matchAll(/```sql\n([^`]*)```/g)].map(([, sql = '']) => sql);
}

/** The token of the link at the end of a path of labels, each followed by its siblings' separator. */
function pathTokens({ world }: Simulator): Map<string, string> {
  const paths = new Map<string, readonly string[]>();
  const tokens = new Map<string, string>();
  for (const link of world.links) {
    const above = link.parentToken === null ? [link.appToken] : (paths.get(link.parentToken) ?? []);
    const path = [...above, link.label];
    paths.set(link.token, path);
    tokens.set(JSON.stringify(path), link.token);
  }
  return tokens;
}

test('every attributed row of a simulated week finds the one link the simulator took it from; organic ones find none', async () => {
  scenario = await openScenario([whole, campaigns, partnersOnly, byCountry], {
    simulator: { world: { apps: 4, partners: 8, links: 400, rowsPerDay: 300 } },
  });
  expect((await scenario.night(asOf)).failures).toEqual([]);
  await joined(async (rowsOf, warehouse) => {
    const tokens = pathTokens(scenario.simulator);
    const expected = (
      found: Readonly<Record<string, unknown>>,
      names: readonly string[],
    ): string | null => {
      const path = names.map((name) => String(found[name]));
      while (path.length > 0) {
        const token = tokens.get(JSON.stringify([found['app_token'], ...path]));
        if (token !== undefined) return token;
        if (path.pop() !== 'unknown') return null;
      }
      return null;
    };
    for (const [view, names] of [
      ['whole', labels],
      ['campaigns', labels.slice(0, 2)],
    ] as const) {
      const rows = await rowsOf(`select * from ${view}_links`);
      expect(await rowsOf(`select count(*)::integer as n from ${view}`)).toEqual([
        { n: rows.length },
      ]);
      expect(rows.length).toBeGreaterThan(100);
      for (const found of rows) {
        const isAttributed =
          found['network'] !== 'Organic' && found['network'] !== 'Expired Attributions';
        expect([found, found['link_token']]).toEqual([found, expected(found, names)]);
        expect(found['is_matched']).toBe(isAttributed);
      }
    }
    const levels = await rowsOf('select distinct link_level as n from whole_links order by 1');
    expect(levels.map(({ n }) => n)).toEqual([1, 2, 3, 4, null]);
    const shares = await rowsOf(
      `select distinct network from whole_links where not is_matched order by 1`,
    );
    expect(shares.map(({ network }) => network)).toEqual(['Expired Attributions', 'Organic']);
    const [installs = ''] = queriesOfLinks().map((sql) => sql.replaceAll('network_daily', 'whole'));
    expect((await rowsOf(installs)).length).toBeGreaterThan(50);

    // A token that another app has, too, doubles nothing. The slice has no cost.
    const spend = statement('examples/spend_by_partner_and_link').replaceAll(
      'network_daily',
      'whole',
    );
    const summed = [installs, spend.replaceAll('r.cost', 'r.clicks')].map(
      (sql) => `select sum(installs)::varchar as installs from (${sql.trim().replace(/;$/, '')})`,
    );
    const before = await rowsOf(summed.join(' union all '));
    await warehouse.run(
      `insert into main.links select * replace ('another0app1' as app_token) from main.links`,
    );
    expect(await rowsOf(summed.join(' union all '))).toEqual(before);
  });
});

test('every row of a slice that names partners finds its partner, by column or by attr_dependency, organic too', async () => {
  scenario = await openScenario([campaigns, partnersOnly, byCountry]);
  await scenario.night(asOf, { partners: true });
  await joined(async (rowsOf, warehouse) => {
    for (const view of ['campaigns', 'partners_only']) {
      const rows = await rowsOf(`select partner_name, matched_partner_name from ${view}_links`);
      expect(rows.length).toBeGreaterThan(20);
      for (const { partner_name: name, matched_partner_name: matched } of rows) {
        expect(matched).toBe(name === 'unknown' ? null : name);
      }
    }
    const unlisted = await rowsOf(
      'select partner_id, display_name, supports_cost_data from main.partners where not is_listed order by partner_id',
    );
    expect(unlisted).toContainEqual({
      partner_id: '-300',
      display_name: 'Organic',
      supports_cost_data: null,
    });
    const views = await rowsOf(
      `select view_name from duckdb_views() where view_name like '%links' order by view_name`,
    );
    expect(views.map(({ view_name }) => view_name)).toEqual([
      'campaigns_links',
      'partners_only_links',
    ]);
    const before = await rowsOf('select * from main.partners_history order by all');
    await completePartners(warehouse, new Date('2026-06-05T00:00:00Z'));
    expect(await rowsOf('select * from main.partners_history order by all')).toEqual(before);
  });
});
