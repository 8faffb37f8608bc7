import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { refreshJoins } from '../../src/account/joins.ts';
import { identifier } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let warehouse: Warehouse;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ warehouse } = scratch);
  return scratch.close;
});

beforeEach(async () => {
  const tables = [
    'main.links_history',
    'main.partners',
    'ripen.link_crawls',
    'ripen.slice_tables',
    'ripen.periods',
  ];
  for (const table of tables) await warehouse.run(`delete from ${table}`);
});

const APP = 'abc123def456';

/** A version of a link, by the labels of its path; its partner is 7. */
async function version(
  token: string,
  path: readonly string[],
  from: string,
  to: string | null = null,
): Promise<void> {
  const labels = [0, 1, 2, 3].map((level) => path[level] ?? null);
  await warehouse.run(
    `insert into main.links_history
     values ($1, '${APP}', null, $1, $2, $3, $4, false, false, null, '7', false, null, null, null, $5, $6, $7, $8, $9::timestamp, $10::timestamp)`,
    [token, path.length, path.join('::'), path.at(-1) ?? '', ...labels, from, to],
  );
}

async function crawled(maxLevel = 4): Promise<void> {
  const row = { app_token: APP, crawled_at: '2026-06-01', max_level: maxLevel };
  await storeRows(warehouse, 'ripen.link_crawls', row);
}

type Fact = Readonly<Record<string, string | null>>;

async function makeLive(name: string): Promise<void> {
  await warehouse.run(`delete from ripen.slice_tables where slice = $1`, [name]);
  const row = { slice: name, fingerprint: 'f', table_name: `main.${identifier(name)}` };
  await storeRows(warehouse, 'ripen.slice_tables', row);
}

const typeOf = (column: string): string =>
  ({ hour: 'timestamp', attr_dependency: 'json' })[column] ??
  (DATES.has(column) ? 'date' : 'varchar');
const DATES = new Set(['day', 'week', 'month', 'quarter']);

/** A live slice of one fact, and the token its view finds for it. */
async function tokenOf(fact: Fact, name = 's'): Promise<unknown> {
  const columns = { app_token: APP, ...fact, attr_dependency: fact['attr_dependency'] ?? '{}' };
  const selected = Object.keys(columns).map(
    (key, at) => `$${at + 1}::${typeOf(key)} as ${identifier(key)}`,
  );
  await warehouse.alter(
    `create or replace table ${identifier(name)} as select ${selected.join(', ')}, 1::bigint as _load_id`,
    Object.values(columns),
  );
  await makeLive(name);
  await refreshJoins(warehouse);
  const rows = await warehouse.rows(
    `select link_token, is_matched from ${identifier(`${name}_links`)}`,
    [],
    z.object({ link_token: z.string().nullable(), is_matched: z.boolean() }),
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]?.is_matched).toBe(rows[0]?.link_token !== null);
  return rows[0]?.link_token;
}

describe('names', () => {
  beforeEach(async () => {
    await crawled();
    await version('net', ['N'], '2026-01-01');
    await version('sale', ['N', 'Sale'], '2026-01-01');
    await version('brand', ['N', 'Brand (77)'], '2026-01-01');
    await version('brand2', ['N', 'Brand (78)'], '2026-01-01');
    await version('ad', ['N', 'Sale', 'Women'], '2026-01-01');
    await version('video', ['N', 'Sale', 'Women', 'Video'], '2026-01-01');
    await version('twin1', ['N', 'Twin'], '2026-01-01');
    await version('twin2', ['N', 'Twin'], '2026-01-01');
    await version('nameless', ['N', ''], '2026-01-01');
    await version('autumn', ['N', 'Autumn (c-77ab)'], '2026-01-01');
  });

  const id = (campaign: string): string => JSON.stringify({ campaign_id_network: campaign });
  /** Each on a day, of the network N. */
  const cases: readonly (readonly [string, Fact, string | null])[] = [
    ['the network alone is its link', {}, 'net'],
    ['an unknown campaign means the network itself', { campaign: 'unknown' }, 'net'],
    ['an empty label is a label where a link has it', { campaign: '' }, 'nameless'],
    ['a label nobody has stays unmatched', { campaign: 'Sales' }, null],
    ['case and blanks count', { campaign: 'sale ' }, null],
    [
      'a known campaign with an unknown ad group name stays unmatched',
      { campaign: 'Sale', adgroup: 'X' },
      null,
    ],
    ['a level left out of the slice does not matter', { adgroup: 'Women' }, 'ad'],
    ['two links with one path stay unmatched', { campaign: 'Twin' }, null],
    ['organic rows have no link', { network: 'Organic', campaign: 'unknown' }, null],
    ['an id after the reported name is dropped', { campaign: 'Sale (123)' }, 'sale'],
    [
      'not when the row has another id',
      { campaign: 'Sale (123)', attr_dependency: id('99') },
      null,
    ],
    [
      'an id after the label is dropped for the row that has it',
      { campaign: 'Brand', attr_dependency: id('78') },
      'brand2',
    ],
    [
      'an id that is no number is dropped',
      { campaign: 'Sale (c-77)', campaign_id_network: 'c-77' },
      'sale',
    ],
    ['and stands after the label', { campaign: 'Autumn', campaign_id_network: 'c-77ab' }, 'autumn'],
    ['not that of another', { campaign: 'Autumn', campaign_id_network: 'c-77' }, null],
    ['nor where the row states none', { campaign: 'Sale (c-77)' }, null],
    [
      'an id with brackets of its own',
      { campaign: 'Sale (a (b))', campaign_id_network: 'a (b)' },
      'sale',
    ],
    [
      'an id as a list of one counts',
      { campaign: 'Brand', attr_dependency: '{"campaign_id_network":["77"]}' },
      'brand',
    ],
    ['an id as its own column counts', { campaign: 'Brand', campaign_id_network: '77' }, 'brand'],
    ['another app has other links', { app_token: 'zzz123def456' }, null],
    ['a row without app or network has none', { app_token: null }, null],
  ];
  test.for(cases)('%s', async ([, fact, token]) => {
    expect(await tokenOf({ day: '2026-03-01', network: 'N', ...fact })).toBe(token);
  });

  test('the view names path and partner, and says which rows found a link', async () => {
    await tokenOf({ day: '2026-03-01', network: 'N', campaign: 'Sale' });
    await warehouse.run(
      `insert into main.partners values ('7', 'Seven', true, true), ('9', 'Nine', true, true)`,
    );
    await warehouse.run(
      `insert into s values ('${APP}', '2026-03-01', 'Organic', 'unknown', '{"partner_id":"9"}', 1)`,
    );
    await refreshJoins(warehouse);
    const shape = z.record(z.string(), z.unknown());
    const joined = `select concat_ws('|', link_level, link_name, network_name, campaign_name, adgroup_name, matched_partner_name) as said, is_matched
                    from s_links order by network`;
    expect(await warehouse.rows(joined, [], shape)).toEqual([
      { said: '2|N::Sale|N|Sale|Seven', is_matched: true },
      { said: '', is_matched: false },
    ]);
  });
});

test.each<readonly [string, Fact, string | null]>([
  ['the column names it', { partner_id: '9' }, '9'],
  ['the column is empty and nothing is attached', { partner_id: '' }, '7'],
  ['the column says unknown', { partner_id: 'unknown' }, '7'],
  [
    'the column is empty and one is attached',
    { partner_id: '', attr_dependency: '{"partner_id":"9"}' },
    '9',
  ],
  ['the attached one is an empty text in a list', { attr_dependency: '{"partner_id":[""]}' }, '7'],
])('the partner of a row is its own, else that of its link: %s', async (_, fact, partner) => {
  await crawled();
  await version('net', ['N'], '2026-01-01');
  await warehouse.run(
    `insert into main.partners values ('7', 'Seven', true, true), ('9', 'Nine', true, true)`,
  );
  expect(await tokenOf({ day: '2026-03-01', network: 'N', partner_name: null, ...fact })).toBe(
    'net',
  );
  const rows = await warehouse.rows(
    'select matched_partner_id as id from s_links',
    [],
    z.object({ id: z.string() }),
  );
  expect(rows).toEqual([{ id: partner }]);
});

describe('versions', () => {
  beforeEach(async () => {
    await crawled();
    await version('a', ['Old'], '2026-03-01 02:30', '2026-04-01 02:30');
    await version('a', ['New'], '2026-04-01 02:30');
    await version('b', ['Old'], '2026-05-01 02:30');
  });

  const cases: readonly (readonly [string, Fact, string | null])[] = [
    [
      'a renamed link keeps its old name on days it had it',
      { day: '2026-03-15', network: 'Old' },
      'a',
    ],
    ['another link may take over the name', { day: '2026-05-02', network: 'Old' }, 'b'],
    [
      'before the first crawl the nearest version counts',
      { day: '2025-01-01', network: 'Old' },
      'a',
    ],
    [
      'the first day of a new name, seen by the crawl of the next',
      { day: '2026-03-31', network: 'New' },
      'a',
    ],
    ['an hour is judged by its day', { hour: '2026-03-15 13:00:00', network: 'Old' }, 'a'],
    [
      'a week the newer one had the name in is its own',
      { week: '2026-04-27', network: 'Old' },
      'b',
    ],
    [
      'a quarter the name was taken over in stays unmatched',
      { quarter: '2026-04-01', network: 'Old' },
      null,
    ],
    ['without a date the last version counts', { network: 'Old' }, 'b'],
  ];
  test.for(cases)('%s', async ([, fact, token]) => {
    expect(await tokenOf(fact)).toBe(token);
  });

  test.each([
    ['a day', '9 hours', { day: '2026-03-31', network: 'Old' }, 'a'],
    ['the day after', '9 hours', { day: '2026-04-01', network: 'Old' }, 'c'],
    ['a month', '9 hours', { month: '2026-03-01', network: 'Old' }, 'a'],
    ['a day', '-5 hours', { day: '2026-03-31', network: 'Old' }, 'a'],
  ] as const)(
    '%s of a slice that is %s ahead of UTC begins and ends by its own clock',
    async (_, offset, fact, token) => {
      const ahead = `interval '${offset}'`;
      await warehouse.run('delete from main.links_history');
      // Two links of one name, that of the other from local midnight on: a day that had both would belong to neither.
      await version('a', ['Old'], '2026-01-01', '2026-12-31');
      await version('a', ['New'], '2026-12-31');
      await warehouse.run(
        `update main.links_history set valid_to = timestamp '2026-04-01 00:00' - ${ahead} where token = 'a' and label = 'Old'`,
      );
      await version('c', ['Old'], '2026-04-01');
      await warehouse.run(
        `update main.links_history set valid_from = timestamp '2026-04-01 00:00' - ${ahead} where token = 'c'`,
      );
      await storeRows(warehouse, 'ripen.periods', {
        slice: 's',
        fingerprint: 'f',
        start_day: '2026-03-10',
      });
      await warehouse.run(`update ripen.periods set ends_at = ends_at - ${ahead}`);
      expect(await tokenOf(fact)).toBe(token);
    },
  );

  const stated = {
    network: 'N',
    campaign: 'Summer (123)',
    attr_dependency: '{"campaign_id_network":"123"}',
  };

  test('a link that is gone, of exactly the reported name, gives way to the living one that the stated id explains', async () => {
    await version('net', ['N'], '2026-01-01');
    await version('dead', ['N', 'Summer (123)'], '2026-01-01', '2026-03-02 02:30');
    await version('alive', ['N', 'Summer'], '2026-03-02 02:30');
    expect(await tokenOf({ day: '2026-02-01', ...stated })).toBe('dead');
    expect(await tokenOf({ day: '2026-03-10', ...stated })).toBe('alive');
    expect(await tokenOf({ month: '2026-03-01', ...stated }, 'm')).toBe('dead');
    expect(await tokenOf(stated, 'undated')).toBe('alive');
  });

  test('a link renamed from exactly the reported name has the partner of its newer version from then on, and in that month', async () => {
    await version('net', ['N'], '2026-01-01');
    await version('one', ['N', 'Summer (123)'], '2026-01-01', '2026-03-02 02:30');
    await version('one', ['N', 'Summer'], '2026-03-02 02:30');
    const named = async (name: string): Promise<unknown> =>
      (
        await warehouse.rows(
          `select link_name from ${name}_links`,
          [],
          z.record(z.string(), z.unknown()),
        )
      )[0]?.['link_name'];
    for (const [fact, name, expected] of [
      [{ day: '2026-02-01' }, 's', 'N::Summer (123)'],
      [{ day: '2026-03-10' }, 's', 'N::Summer'],
      [{ month: '2026-03-01' }, 'm', 'N::Summer'],
    ] as const) {
      expect(await tokenOf({ ...fact, ...stated }, name)).toBe('one');
      expect(await named(name)).toBe(expected);
    }
  });
});

test('a slice named like the view of another keeps its table, and views follow a changed table', async () => {
  await crawled();
  await version('net', ['N'], '2026-01-01');
  expect(await tokenOf({ day: '2026-03-01', network: 'N' }, 'x_links')).toBe('net');
  await warehouse.alter(`create table x as from x_links`);
  await makeLive('x');
  await refreshJoins(warehouse);
  const views = `select view_name from duckdb_views() where view_name like 'x%'`;
  expect(await warehouse.rows(views, [], z.unknown())).toEqual([{ view_name: 'x_links_links' }]);
  expect(await tokenOf({ day: '2026-03-01', network: 'N', country: 'DE' }, 'x_links')).toBe('net');
});

test('the view unnests no list beside the tables that it joins, at which DuckDB before 1.4.2 fails', async () => {
  await tokenOf({ day: '2026-02-01', network: 'N', campaign: 'Sale' });
  const [view] = await warehouse.rows(
    "select sql from duckdb_views() where view_name = 's_links'",
    [],
    z.object({ sql: z.string() }),
  );
  expect(view?.sql).toMatch(/select \*, unnest\(/i);
  expect(view?.sql).not.toMatch(/ as k\s*,\s*(?:lateral\s+)?unnest/i);
});
