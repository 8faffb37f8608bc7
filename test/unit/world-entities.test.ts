import { expect, test } from 'vitest';
import { createWorld, defaultWorld } from '../../src/simulator/world/world.ts';
import { awkwardLabels } from '../../src/simulator/world/names.ts';

/** A cell as text, whichever of its forms it has. */
const textOf = (cell: unknown): string => (typeof cell === 'string' ? cell : JSON.stringify(cell ?? ''));

const now = new Date('2026-06-01T03:00:00Z');
const world = createWorld();

test('the default world has 3 apps, 6 partners and 60 links, four levels deep', () => {
  expect(world.options).toEqual(defaultWorld);
  expect(world.apps).toHaveLength(3);
  expect(world.partners).toHaveLength(6);
  expect(world.links).toHaveLength(60);
  expect(new Set(world.links.map((link) => link.level))).toEqual(new Set([1, 2, 3, 4]));
});

test('app tokens are 12 alphanumeric characters, link tokens 6 to 8, and both are unique', () => {
  for (const app of world.apps) expect(app.token).toMatch(/^[a-z0-9]{12}$/);
  for (const link of world.links) expect(link.token).toMatch(/^[a-z0-9]{6,8}$/);
  expect(new Set(world.apps.map((app) => app.token)).size).toBe(3);
  expect(new Set(world.links.map((link) => link.token)).size).toBe(60);
});

test('a sub-link is one level below its parent, named after it with ::, and has no partner of its own', () => {
  const byToken = new Map(world.links.map((link) => [link.token, link]));
  for (const link of world.links) {
    const parent = link.parentToken === null ? undefined : byToken.get(link.parentToken);
    expect(link.level).toBe((parent?.level ?? 0) + 1);
    expect(link.name).toBe(parent === undefined ? link.label : `${parent.name}::${link.label}`);
    expect(link.appToken).toBe(parent?.appToken ?? link.appToken);
    expect(parent === undefined || link.partnerId === null).toBe(true);
  }
  expect(world.links.some((link) => link.level === 1 && link.partnerId === null)).toBe(true);
});

test('two apps share one name and differ in token and store id', () => {
  const [first, second] = world.apps;
  expect(first?.name).toBe(second?.name);
  expect(first?.storeId).not.toBe(second?.storeId);
});

test('of the 21 awkward labels at least 15 carry traffic within a month, NFC and NFD twins among the links', () => {
  const query = new URLSearchParams({
    dimensions: 'network,campaign,adgroup,creative',
    metrics: 'installs',
    date_period: '2026-01-01:2026-01-31',
    attribution_type: 'all',
  });
  const rows = world.report(query, now)?.rows ?? [];
  const seen = new Set(rows.flatMap((row) => [row['network'], row['campaign'], row['adgroup'], row['creative']]));
  expect(awkwardLabels.filter((label) => seen.has(label)).length).toBeGreaterThanOrEqual(15);
  const labels = world.links.map((link) => link.label);
  expect(labels).toContain('Caf\u00e9 summer');
  expect(labels).toContain('Cafe\u0301 summer');
});

test('network, campaign, adgroup, creative and partner of every attributed row are a path of links', () => {
  const query = new URLSearchParams({
    dimensions: 'app_token,partner_id,network,campaign,adgroup,creative',
    metrics: 'installs',
    date_period: '2026-01-01:2026-01-07',
    attribution_type: 'all',
  });
  const rows = world.report(query, now)?.rows ?? [];
  const levels = ['network', 'campaign', 'adgroup', 'creative'];
  const attributed = rows.filter((row) => row['partner_id'] !== '-300');
  expect(attributed.length).toBeGreaterThan(20);
  for (const row of attributed) {
    const labels = levels.map((level) => textOf(row[level])).filter((label) => label !== 'unknown');
    const path = labels.join('::');
    const link = world.links.find((candidate) => candidate.name === path && candidate.appToken === row['app_token']);
    expect(link?.level).toBe(labels.length);
    const network = world.links.find(
      (candidate) =>
        candidate.level === 1 && candidate.label === row['network'] && candidate.appToken === row['app_token'],
    );
    expect(row['partner_id']).toBe(network?.partnerId === null ? 'unknown' : String(network?.partnerId));
  }
});

test('10,000 links leave the default world with about 150 rows a day', () => {
  const large = createWorld({ links: 10_000 });
  expect(large.links).toHaveLength(10_000);
  expect(new Set(large.links.map((link) => link.token)).size).toBe(10_000);
  const query = new URLSearchParams({
    dimensions: 'day,app_token,partner_name,network,os_name,country_code',
    metrics: 'installs',
    date_period: '2026-01-01:2026-01-01',
    attribution_type: 'all',
  });
  const rows = large.report(query, now)?.rows ?? [];
  expect(rows.length).toBeGreaterThan(120);
  expect(rows.length).toBeLessThan(180);
});

test('a world of 20,000 rows a day has between 18,000 and 22,000', () => {
  const large = createWorld({ rowsPerDay: 20_000, links: 300 });
  const query = new URLSearchParams({
    dimensions: 'day,app_token,partner_name,network,os_name,country_code',
    metrics: 'installs,cost',
    date_period: '2026-01-01:2026-01-01',
    attribution_type: 'all',
  });
  const rows = large.report(query, now)?.rows ?? [];
  expect(rows.length).toBeGreaterThan(18_000);
  expect(rows.length).toBeLessThan(22_000);
});
