/** What goes over the wire when all is well. */

import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { Secret } from '../../src/config/secret.ts';
import { writeCertificate } from '../support/certificate.ts';
import {
  type Connection,
  connectTo,
  failureFrom,
  json,
  markedToken,
  savePage,
  type Script,
  type ScriptedServer,
  type Overrides,
  useService,
} from '../support/scripted-server.ts';

const directory = mkdtempSync(join(tmpdir(), 'ripen-service-'));
const saveAs = join(directory, 'report');
let server: ScriptedServer;
let connection: Connection;

afterEach(() => rmSync(saveAs, { force: true }));

afterAll(() => rmSync(directory, { recursive: true }));

async function serve(script: Script, overrides: Overrides = {}): Promise<void> {
  ({ server, connection } = await useService(script, overrides));
}

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/service/${name}`, import.meta.url), 'utf8');
}

describe('a report', () => {
  test('is asked for with every value encoded, ISO dates and the headers of the account', async () => {
    const headers = { 'X-Account': new Secret('account-7') };
    await serve(() => json({ rows: [] }), { headers });
    const parameters = {
      dimensions: 'day,app',
      utc_offset: '+05:30',
      app__in: 'a b&c=ü',
      format_dates: 'true',
    };
    await savePage(connection, saveAs, parameters);
    const [request] = server.received;
    expect(request?.target).toBe(
      '/reports-service/report?dimensions=day,app&utc_offset=%2B05:30&app__in=a%20b%26c%3D%C3%BC&format_dates=false',
    );
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${markedToken}`,
      'x-account': 'account-7',
      'accept-encoding': 'gzip',
    });
    expect(request?.headers['user-agent']).toMatch(/^ripen\/\d+\.\d+\.\d+/);
  });

  test('under an address with a path keeps the path', async () => {
    await serve(
      () => json({ rows: [] }),
      (origin) => ({ reportsUrl: `${origin}/gateway/` }),
    );
    await savePage(connection, saveAs);
    expect(server.received[0]?.path).toBe('/gateway/reports-service/report');
  });

  test('in gzip is saved as it came, and measured plain, for the owner only', async () => {
    const document = {
      rows: Array.from({ length: 5000 }, (_, row) => ({ row, cost: 0.1234567890123456 })),
    };
    await serve(() => json(document, { gzip: true }));
    const saved = await savePage(connection, saveAs);
    const file = readFileSync(saveAs);
    expect(JSON.parse(gunzipSync(file).toString('utf8'))).toEqual(document);
    expect(saved).toEqual({
      path: saveAs,
      encoding: 'gzip',
      bytes: file.length,
      plainBytes: JSON.stringify(document).length,
    });
    expect(statSync(saveAs).mode & 0o777).toBe(0o600);
    expect(connection.service.statistics()).toEqual({
      requests: 1,
      retries: 0,
      peakConcurrency: 1,
      lastSetback: null,
      bytes: file.length,
    });
  });

  test('that is empty (204) is null', async () => {
    await serve(() => ({ status: 204 }));
    expect(await savePage(connection, saveAs)).toBeNull();
  });

  test('is one of at most 7 in flight where 7 are allowed, whatever else is asked', async () => {
    await serve(() => json({ rows: [], apps: [] }, { afterMs: 5 }), { maxConcurrency: 7 });
    const { service, signal } = connection;
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        index % 2 === 0
          ? savePage(connection, join(directory, String(index)))
          : service.filtersData({ filters: ['apps'] }, signal),
      ),
    );
    // The server may see a call end before the next one comes.
    expect(server.peak()).toBeLessThanOrEqual(7);
    expect(service.statistics().peakConcurrency).toBe(7);
  });
});

describe('filters-data', () => {
  test.each(['v1', 'v2'])(
    'is read from the %s example, missing fields as empty',
    async (version) => {
      await serve(() => json({}, { body: fixture(`filters_data.example.${version}.json`) }));
      const catalog = await connection.service.filtersData(
        { filters: ['overview_metrics', 'cost_metrics'], section: 'cost' },
        connection.signal,
      );
      expect(server.received[0]?.target).toBe(
        '/reports-service/filters_data?required_filters=overview_metrics,cost_metrics&section=cost',
      );
      const ecpi = catalog.find(({ id }) => id === 'ecpi_all');
      expect(ecpi).toMatchObject({
        filter: 'overview_metrics',
        section: 'Cost',
      });
      expect(ecpi?.shortName).toMatch(/^eCPI/);
      expect(catalog.find(({ id }) => id === 'network_cost')).toMatchObject({
        filter: 'cost_metrics',
        shortName: '',
      });
    },
  );

  test.each([
    [400, 'SOURCE_REFUSED'],
    [403, 'ACCESS_FORBIDDEN'],
  ])(
    'of which one list is answered %i lacks that list; if all are, it is %s',
    async (status, code) => {
      const refused = ['networks'];
      let requests = 0;
      await serve(({ query }) => {
        requests += 1;
        const filters = (query.get('required_filters') ?? '').split(',');
        if (filters.some((filter) => refused.includes(filter))) return { status };
        return json(Object.fromEntries(filters.map((filter) => [filter, [{ id: filter }]])));
      });
      const left: string[] = [];
      const onRefused = (filter: string): void => void left.push(filter);
      const request = { filters: ['apps', 'networks', 'countries'], onRefused } as const;
      const items = await connection.service.filtersData(request, connection.signal);
      expect(items.map(({ id }) => id)).toEqual(['apps', 'countries']);
      expect(left).toEqual(['networks']);
      const filters = ['networks', 'apps', 'countries', 'os_names', 'store_type'] as const;
      refused.push(...filters);
      requests = 0;
      const all = { filters };
      const failure = await failureFrom(connection.service.filtersData(all, connection.signal));
      expect(failure.code).toBe(code);
      // A token that may read nothing is not asked for each.
      expect(requests).toBe(status === 403 ? 4 : 9);
    },
  );

  test.each([
    ['an error object', '{"error":"catalog is being built"}', 'an error: catalog is being built'],
    ['an empty object', '{}', 'none of the requested lists was in {}'],
    ['another list', '{"networks":[]}', 'none of the requested lists was in {"networks":[]}'],
    ['a bare list', '[{"id":"a"}]', 'expected record, received array'],
    ['a word', '"maintenance"', 'expected record, received string'],
  ])(
    'answered 200 with %s is asked for once more, then SOURCE_GARBLED with its first words',
    async (_, body, words) => {
      await serve(() => json({}, { body }));
      const failure = await failureFrom(
        connection.service.filtersData({ filters: ['apps'] }, connection.signal),
      );
      expect(failure).toMatchObject({
        code: 'SOURCE_GARBLED',
        facts: { attempts: 2, status: 200 },
      });
      expect(failure.message).toContain(words);
    },
  );
});

describe('the certificate of the service', () => {
  const key = join(directory, 'key.pem');
  const cert = join(directory, 'cert.pem');
  test.skipIf(!writeCertificate('IP:127.0.0.1', { key, cert }))(
    'is trusted by its own authority file, and without one refused at the first try',
    async () => {
      const pem = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
      ({ server, connection } = await useService(() => json({ rows: [] }), { caFile: cert }, pem));
      const stranger = connectTo(server.origin);
      const failure = await failureFrom(savePage(stranger, saveAs));
      expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 1 } });
      expect(failure.hint).toContain('ca_file');
      await stranger.service.close();
      expect(await savePage(connection, saveAs)).not.toBeNull();
    },
  );

  test('from a file that is not there is CONFIG_INVALID', async () => {
    await serve(() => ({}));
    expect(() => connectTo(server.origin, { caFile: join(directory, 'none.pem') })).toThrow(
      'could not be read',
    );
  });
});
