/** FAULTS 31: the zone of the machine, and its daylight saving, make no difference to what is planned and loaded. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { contentsOf, differences } from '../support/installation-contents.ts';
import { openInstallation, serviceAt, TOKEN } from '../support/installation.ts';

/** One that left out 30 December 2011, and one whose clocks skipped midnight in November 2018. */
const zones = ['Pacific/Apia', 'America/Sao_Paulo'];

/** In Apia the afternoon of the 14th, in São Paulo still the 13th. */
const first = '2026-02-14T01:30:00Z';
const second = '2026-02-15T01:30:00Z';

const metrics = ['installs', 'cost'];
const slices = [
  { name: 'daily', dimensions: ['day', 'os_name'], metrics, date_period: '-9d:today' },
  {
    name: 'western',
    dimensions: ['hour'],
    metrics,
    date_period: '-2d:yesterday',
    utc_offset: '-04:00',
  },
  {
    name: 'eastern',
    dimensions: ['hour'],
    metrics,
    date_period: '-2d:today',
    utc_offset: '+14:00',
  },
  {
    name: 'weekly',
    dimensions: ['week'],
    metrics,
    date_period: '-30d:yesterday',
    utc_offset: '+05:30',
  },
  { name: 'monthly', dimensions: ['month'], metrics, date_period: '-60d:yesterday' },
  // Before anything was measured; on a host in Apia the 30th, on one in São Paulo 4 November 00:00, never were.
  { name: 'no_30th', dimensions: ['day'], metrics, date_period: '2011-12-28:2012-01-02' },
  { name: 'no_midnight', dimensions: ['hour'], metrics, date_period: '2018-11-03:2018-11-05' },
];

/** What is particular to one warehouse, its path and its runs, is left out. */
const statusShape = z.object({ slices: z.unknown() });

let early: Simulator;
let late: Simulator;

beforeAll(async () => {
  const world = { seed: 9, listed: [], apps: 1, partners: 2, links: 6, rowsPerDay: 20 };
  early = await startSimulator({ token: TOKEN, world, now: new Date(first) });
  late = await startSimulator({ token: TOKEN, world, now: new Date(second) });
});

afterAll(async () => {
  await early.close();
  await late.close();
});

/** What an installation on a host in a zone plans for two nights, and holds after the first and after the second. */
async function nightsIn(zone: string): Promise<Record<string, string>> {
  const installation = await openInstallation();
  await installation.configure({
    service: serviceAt('${SERVICE}'),
    warehouse: 'warehouse.duckdb',
    partners: false,
    slices,
  });
  const said = async (command: string, asOf: string, service: Simulator): Promise<string> => {
    const argv = [command, '--as-of', asOf, '--json', '--quiet'];
    const { code, out, err } = await installation.run(argv, { TZ: zone, SERVICE: service.url });
    if (code !== 0) throw new Error(`${command} in ${zone} ended with ${code}: ${err}`);
    return out;
  };
  const nothingLoaded = await said('plan', first, early);
  await said('sync', first, early);
  const afterFirst = await said('plan', second, late);
  await said('sync', second, late);
  return {
    ...(await contentsOf(installation.path('warehouse.duckdb'))),
    nothingLoaded,
    afterFirst,
    status: JSON.stringify(statusShape.parse(JSON.parse(await said('status', second, late)))),
  };
}

test('hosts in Apia and São Paulo plan the same windows, load the same rows and show the same status', async () => {
  const [apia = {}, other = {}] = await Promise.all(zones.map((zone) => nightsIn(zone)));
  expect(Object.keys(apia)).toEqual(
    expect.arrayContaining(slices.map(({ name }) => `main.${name}`)),
  );
  expect(differences(apia, other)).toStrictEqual([]);
});
