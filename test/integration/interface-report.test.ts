/** GET reports-service/report and filters_data: every parameter from the configuration to the wire, every status. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import * as z from 'zod';

import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { fromService } from '../../src/run/service-source.ts';
import { sync } from '../../src/sync.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import {
  type Connection,
  connectTo,
  json,
  markedToken,
  type Received,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
  useService,
} from '../support/scripted-server.ts';

const directory = mkdtempSync(join(tmpdir(), 'ripen-interface-'));

afterAll(() => rmSync(directory, { recursive: true }));

/** Syncs slices against a server, as their configuration is written, into a warehouse of a name. */
async function synced(
  { origin }: ScriptedServer,
  { service, signal }: Connection,
  warehouse: string,
  slices: readonly object[],
): Promise<Config> {
  const settings = {
    service: { base_url: origin, reports_url: origin, token: markedToken },
    warehouse,
    partners: false,
  };
  const text = stringify({ ...settings, slices }).replaceAll('$', '$$$$');
  const config = parseConfig(text, {
    file: join(directory, 'ripen.yaml'),
    directory,
    environment: {},
  });
  const request = {
    command: 'sync',
    lockWaitMs: 0,
    asOf: new Date('2026-02-10T00:00:00Z'),
  } as const;
  const summary = await sync(config, request, fromService(service), { emit: () => {}, signal });
  expect(summary.failures).toEqual([]);
  return config;
}

/** Answers filters-data with nothing but these metrics. */
function listing({ query }: Received, ids: readonly string[]): Reply {
  const names = (query.get('required_filters') ?? '').split(',');
  const items = ids.map((id) => ({ id, formatting: id === 'cost' ? 'money' : 'integer' }));
  return json(
    Object.fromEntries(names.map((name) => [name, name === 'overview_metrics' ? items : []])),
  );
}

/** Name, what the configuration says, what goes on the wire. */
const parameters = [
  ['cohort_maturity', 'mature', 'mature'],
  ['utc_offset', '+05:30', '+05:30'],
  ['attribution_type', 'impression', 'impression'],
  ['attribution_source', 'first', 'first'],
  ['reattributed', false, 'false'],
  ['iap_revenue_mode', 'GROSS_70', 'GROSS_70'],
  ['ad_revenue_sources', ['one', 'two'], 'one,two'],
  ['os_names', ['ios', 'android'], 'ios,android'],
  ['ad_spend_mode', 'network', 'network'],
  ['sandbox', true, 'true'],
  ['sort', ['-installs', 'day'], '-installs,day'],
  ['index', ['app_token'], 'app_token'],
  ['period_over_period', 'previous_week', 'previous_week'],
  ['currency', 'EUR', 'EUR'],
] as const;

const filters = [
  ['os_name__in', ['ios', 'a b&c'], 'ios,a b&c'],
  ['os_name__not_in', ['ios'], 'ios'],
  ['app__contains', 'x,y', 'x,y'],
  ['app__exclude', 'x=y', 'x=y'],
  ['campaign__starts_with', '+%', '+%'],
  ['campaign__not_starts_with', '#', '#'],
  ['network__ends_with', 'ü', 'ü'],
  ['network__not_ends_with', '"', '"'],
  ['installs__lt', 1, '1'],
  ['installs__lte', 2.5, '2.5'],
  ['installs__gt', 0, '0'],
  ['installs__gte', -1, '-1'],
  ['installs__eq', 7, '7'],
  ['installs__ne', '9007199254740993', '9007199254740993'],
] as const;

describe('a slice', () => {
  let server: ScriptedServer;
  let connection: Connection;

  /** One sync of one slice for each of these, and one that says nothing: 204 is a valid answer to all of them. */
  beforeAll(async () => {
    server = await startScriptedServer((request) =>
      request.path.endsWith('/filters_data')
        ? listing(request, ['installs', 'clicks'])
        : { status: 204 },
    );
    connection = connectTo(server.origin);
    const said = [{}, ...parameters.map(([name, value]) => ({ [name]: value }))];
    const filtered = filters.map(([name, value]) => ({ filters: { [name]: value } }));
    const common = {
      dimensions: ['day', 'app_token'],
      metrics: ['installs', 'clicks'],
      date_period: '2026-02-01:2026-02-03',
    };
    const slices = [...said, ...filtered].map((words, index) =>
      Object.assign({ name: `slice_${index}` }, common, words),
    );
    await synced(server, connection, 'parameters.duckdb', slices);
  });

  afterAll(async () => {
    await connection.service.close();
    await server.close();
  });

  /** Each once, without control totals: an answer without rows is asked for in the same words again before it is loaded. */
  const reports = (): readonly URLSearchParams[] => {
    const requested = server.received
      .filter(({ path }) => path === '/reports-service/report')
      .map(({ query }) => query)
      .filter((query) => query.get('dimensions') !== 'day');
    return [...new Map(requested.map((query) => [query.toString(), query])).values()];
  };

  test('sends dimensions, metrics, date_period with both its days, and format_dates=false, each once', () => {
    expect(reports()).toHaveLength(1 + parameters.length + filters.length);
    for (const query of reports()) {
      expect(query.getAll('dimensions')).toEqual(['day,app_token']);
      expect(query.getAll('metrics')).toEqual(['installs,clicks']);
      expect(query.getAll('date_period')).toEqual(['2026-02-01:2026-02-03']);
      expect(query.getAll('format_dates')).toEqual(['false']);
    }
  });

  test('that says nothing sends the 5 parameters with a default of ours, and no other', () => {
    const always = ['date_period', 'dimensions', 'format_dates', 'metrics'];
    const ours = [
      'attribution_source',
      'attribution_type',
      'cohort_maturity',
      'sandbox',
      'utc_offset',
    ];
    expect(new Set(reports()[0]?.keys())).toEqual(new Set([...always, ...ours]));
  });

  test.each(parameters)(
    'that sets %s to %j sends %j, once, and no other slice does',
    (name, _, wire) => {
      const sending = reports().filter((query) => query.get(name) === wire);
      expect(sending.map((query) => query.getAll(name))).toEqual([[wire]]);
    },
  );

  test.each(filters)(
    'with the filter %s: %j sends %j, once, and no other slice does',
    (name, _, wire) => {
      const sending = reports().filter((query) => query.has(name));
      expect(sending.map((query) => query.getAll(name))).toEqual([[wire]]);
    },
  );

  test('asks for filters_data in one call before all reports, under the same Bearer token', () => {
    const [first, ...others] = server.received;
    expect(first?.path).toBe('/reports-service/filters_data');
    expect(others.every(({ path }) => path === '/reports-service/report')).toBe(true);
    expect(new Set(server.received.map(({ headers }) => headers.authorization))).toEqual(
      new Set([`Bearer ${markedToken}`]),
    );
  });
});

test('an answer of 200 has its rows stored with their attr_dependency, is proven by its totals, and its warnings are kept', async () => {
  const rows = [
    { attr_dependency: {}, day: '2026-02-01', app: 'A', installs: '3', cost: '1.25' },
    {
      attr_dependency: { partner_id: '-300', ids: ['1', '2'] },
      day: '2026-02-01',
      app: '',
      installs: 4,
      cost: null,
    },
  ];
  const totals = { installs: 7.0, cost: 1.25 };
  const answer = {
    rows,
    totals,
    warnings: ['Cost of today is an estimate'],
    pagination: null,
    unasked: 1,
  };
  const { server, connection } = await useService((request) =>
    request.path.endsWith('/filters_data') ? listing(request, ['installs', 'cost']) : json(answer),
  );
  const daily = { name: 'daily', dimensions: ['day', 'app'], metrics: ['installs', 'cost'] };
  const days = { date_period: '2026-02-01:2026-02-01' };
  const { warehouse: path } = await synced(server, connection, 'answer.duckdb', [
    { ...daily, ...days },
  ]);
  const warehouse = await openWarehouse(path, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  const found = async (sql: string) => warehouse.rows(sql, [], z.record(z.string(), z.unknown()));
  const columns = 'attr_dependency, day, app, installs, cost';
  expect(await found(`select ${columns} from main.daily order by installs`)).toEqual([
    { attr_dependency: '{}', day: '2026-02-01', app: 'A', installs: '3', cost: '1.250000' },
    {
      attr_dependency: '{"ids":["1","2"],"partner_id":"-300"}',
      day: '2026-02-01',
      app: '',
      installs: '4',
      cost: null,
    },
  ]);
  expect(await found('select verdict, rows_fetched from ripen.loads')).toEqual([
    { verdict: 'proven', rows_fetched: '2' },
  ]);
  expect((await found('select message from ripen.warnings')).map(({ message }) => message)).toEqual(
    [expect.stringContaining('Cost of today is an estimate')],
  );
  await warehouse.close();
});
