/** `ripen init --from-account`: the configuration it writes of an account, and that check and plan take it as it is. */

import { readFile } from 'node:fs/promises';

import { beforeEach, expect, test } from 'vitest';

import { check, init, plan, readConfig, sync, type Config } from '../../src/index.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { startAccount } from '../support/grown-account.ts';
import { smallWorld } from '../support/night.ts';
import { openInstallation, TOKEN, type Installation } from '../support/installation.ts';

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

/** Writes the configuration of the account at an address, and returns its text and what it says. */
async function written(url: string): Promise<{ readonly text: string; readonly config: Config }> {
  const { directory } = installation;
  const environment = { RIPEN_TOKEN: TOKEN, RIPEN_BASE_URL: url };
  await init({ directory, account: { environment, reportsUrl: url } });
  const text = await readFile(installation.path('ripen.yaml'), 'utf8');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  expect(text).not.toContain(TOKEN);
  return { text, config: await readConfig({ directory, environment: { RIPEN_TOKEN: TOKEN } }) };
}

/** All that check does not like; what a star stands for is no complaint. */
async function complaintsAbout(config: Config): Promise<string[]> {
  const findings = await check(config);
  return findings
    .filter(
      ({ severity, message }) =>
        !['works', 'untried'].includes(severity) && !message.includes(' stands for '),
    )
    .map(({ message }) => message);
}

test('of the simulator it names apps, currency, cohort ages and events; check finds nothing, plan and sync work', async () => {
  const simulator = await startSimulator({ token: TOKEN, world: smallWorld });
  const { config } = await written(simulator.url);
  expect(config.slices.map(({ name, grain }) => [name, grain])).toEqual([
    ['network_daily', 'day'],
    ['campaign_daily', 'day'],
    ['app_hourly', 'hour'],
  ]);
  expect(config.slices[0]?.metrics).toEqual(
    expect.arrayContaining(['installs', 'all_revenue_total_d7', '*_events']),
  );
  expect(await complaintsAbout(config)).toEqual([]);
  expect((await plan(config)).slices).toHaveLength(3);
  expect(await sync(config, { slices: ['network_daily'] })).toMatchObject({
    status: 'succeeded',
    failures: [],
  });
}, 60_000);

test('a missing address or token is refused before a file is written; names of the account stay in their comments', async () => {
  const apps = [
    { id: 'abc123def456', name: 'Puzzle Story' },
    { id: 'xyz987uvw654', name: 'Farm\nlinks: {}' },
  ];
  const account = await startAccount({ apps, events: ['purchase_events'], ages: ['d7'] });
  const refused = async (chosen: object): Promise<string> =>
    init({
      directory: installation.directory,
      account: { environment: {}, baseUrl: account.origin, ...chosen },
    }).then(() => 'nothing', String);
  expect(await refused({})).toContain('--reports-url or RIPEN_REPORTS_URL is not set');
  const reportsUrl = account.origin;
  expect(await refused({ reportsUrl })).toContain('RIPEN_TOKEN is not set');
  const environment = { RIPEN_TOKEN: TOKEN };
  expect(await refused({ reportsUrl: 'http://example.com', environment })).toContain(
    'is plain http',
  );
  expect(await installation.files()).toEqual([]);

  const { text, config } = await written(account.origin);
  expect(config.links).toMatchObject({ apps: 'all' });
  expect(text).toMatch(
    /\n {2}# filters: .*\n {2}# {3}abc123def456: Puzzle Story\n {2}# {3}xyz987uvw654: Farm[^\n]*links: \{\}\n\n/,
  );
  expect(text).toContain('events: &events ["*_events"] # 1 metric today: purchase_events');
  const requests = account.received.length;
  expect(await refused({ reportsUrl, environment })).toContain('already exist');
  expect(account.received.length).toBe(requests);
});
