import { describe, expect, test } from 'vitest';

import { completePartners, refreshPartners } from '../../src/links/refresh-partners.ts';
import type { Partner } from '../../src/model/link.ts';
import type { Service } from '../../src/service/service.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import { column, query } from '../support/contents.ts';
import { openLinksScene, type LinksScene } from '../support/links-scene.ts';
import { smallWorld } from '../support/night.ts';
import { combined, replacedValue } from '../support/report-mutations.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scene: LinksScene;

const firstNight = '2026-06-01T02:30:00Z';
const secondNight = '2026-06-02T02:30:00Z';

const current = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  scene.rows('select * from main.partners order by partner_id');
const history = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  scene.rows('select * from main.partners_history order by partner_id, valid_from');

/** The service, with another partner list. */
function listing(pages: readonly (readonly Partner[])[]): Service {
  return {
    ...scene.service,
    async *partners() {
      yield* pages;
    },
  };
}

test('120 partners over 3 pages are stored as listed; the same list again makes no new version', async () => {
  scene = await openLinksScene({ world: { partners: 120 } });
  expect(await refreshPartners(scene.run(firstNight))).toEqual({ rows: 120 });
  const listed = scene.simulator.world.partners
    .map((partner) => ({
      partner_id: String(partner.id),
      display_name: partner.display_name,
      supports_cost_data: partner.supports_cost_data,
      is_listed: true,
    }))
    .toSorted((one, other) => (one.partner_id < other.partner_id ? -1 : 1));
  expect(await current()).toEqual(listed);
  const once = await history();
  expect(once).toHaveLength(120);
  await refreshPartners(scene.run(firstNight));
  await refreshPartners(scene.run(secondNight));
  expect(await history()).toEqual(once);
});

/** The whole of a night: the service's list, then what rows carry. */
async function refreshed(asOf: string, service: Service): Promise<void> {
  await refreshPartners({ ...scene.run(asOf), service });
  await completePartners(scene.warehouse, new Date(asOf));
}

/** A table of a slice whose rows, as text columns and the load that brought each, are given. */
async function carrying(rows: string, state: 'live' | 'building' = 'live'): Promise<void> {
  await scene.warehouse.run(`create or replace table carrying as ${rows}`);
  await scene.warehouse.run(`delete from ripen.slice_tables`);
  await scene.warehouse.run(
    `insert into ripen.slice_tables (slice, fingerprint, table_name, state, created_at)
     values ('carrying', 'f', 'main."carrying"', $1, now())`,
    [state],
  );
}

/** A load on record. */
async function loaded(load: number): Promise<void> {
  await scene.warehouse.run(
    `insert into ripen.loads
     select $1::bigint, 'run', 'carrying', 'f', '2026-05-31', '2026-06-01', [], '{}', [], 1, 1, 1, 1, 0, 'proven', '{}',
         now(), now(), now(), now()`,
    [load],
  );
}

const unlisted = async (): Promise<unknown[]> =>
  (await current()).filter((row) => row['is_listed'] === false).map((row) => row['partner_id']);
const row = (id: string, load: number, name = id): string =>
  `select '${id}' as partner_id, '${name}' as partner_name, '{}'::json as attr_dependency, ${load}::bigint as _load_id`;

test('a renamed partner gets a second version, one that is listed no more stays as not listed, as does one that rows alone carry', async () => {
  scene = await openLinksScene();
  await carrying(`${row('3', 1, 'Three')} union all select null, null, '{"partner_id":["-300"]}'::json, 2`);
  await loaded(2);
  const partner = (id: string, displayName: string): Partner => ({ id, displayName, supportsCostData: false });
  const before = listing([
    [partner('1', 'One'), partner('2', 'Two')],
    [partner('3', 'Three'), partner('1', 'Uno')],
  ]);
  await refreshed(firstNight, before);
  expect((await current()).map((row) => [row['partner_id'], row['display_name'], row['is_listed']])).toEqual([
    ['-300', '', false],
    ['1', 'Uno', true],
    ['2', 'Two', true],
    ['3', 'Three', true],
  ]);

  await refreshed(secondNight, listing([[partner('1', 'Ein'), partner('2', 'Two')]]));
  expect((await current()).map((row) => [row['partner_id'], row['display_name'], row['is_listed']])).toEqual([
    ['-300', '', false],
    ['1', 'Ein', true],
    ['2', 'Two', true],
    ['3', 'Three', false],
  ]);
  const [first, second] = ['2026-06-01 02:30:00', '2026-06-02 02:30:00'];
  expect((await history()).map((row) => [row['partner_id'], row['valid_from'], row['valid_to']])).toEqual([
    ['-300', first, null],
    ['1', first, second],
    ['1', second, null],
    ['2', first, null],
    ['3', first, second],
    ['3', second, null],
  ]);
});

describe('of the partners that only rows carry', () => {
  const night = (): Promise<void> => refreshed(firstNight, listing([]));

  test('those of loads that no run searched are found, and rows that were searched are not read again', async () => {
    scene = await openLinksScene();
    await carrying(row('old', 2));
    await loaded(2);
    await night();
    await carrying(`${row('other', 2)} union all ${row('new', 3)}`);
    await loaded(3);
    await night();
    expect(await unlisted()).toEqual(['new', 'old']);
  });

  test('those of a table that is being built are there when it goes live', async () => {
    scene = await openLinksScene();
    await carrying(row('swapped', 1), 'building');
    await loaded(1);
    await night();
    expect(await unlisted()).toEqual(['swapped']);
  });

  test('an empty name in newer rows leaves the name as it was, and an empty or unknown id is no partner', async () => {
    scene = await openLinksScene();
    const names = async (): Promise<unknown> =>
      (await current()).map((each) => [each['partner_id'], each['display_name']]);
    await carrying(
      [row('p', 1, 'Named'), row('p', 2, ''), row('', 3, 'Nobody'), row('unknown', 4)].join(' union all '),
    );
    await loaded(4);
    await night();
    expect(await names()).toEqual([['p', 'Named']]);
    await carrying(row('p', 5, ''));
    await loaded(5);
    await night();
    expect(await names()).toEqual([['p', 'Named']]);
  });

  test('one gets the newest name of its rows, and stays when no row carries it any more', async () => {
    scene = await openLinksScene();
    await carrying(`${row('p', 1, 'Before')} union all ${row('p', 2, 'Now')}`);
    await loaded(2);
    await night();
    await carrying(row('q', 3));
    await loaded(3);
    await refreshed(secondNight, listing([]));
    expect((await current()).map((each) => each['display_name'])).toEqual(['Now', 'q']);
  });
});

test('a run for 1 June after the partners changed on 2 June leaves them as they are, and says so', async () => {
  scene = await openLinksScene();
  const said = (name: string, supportsCostData: boolean | null): Service =>
    listing([[{ id: '1', displayName: name, supportsCostData }]]);
  await refreshPartners({ ...scene.run(secondNight), service: said('Newer', null) });
  const before = await history();
  expect(before).toMatchObject([{ display_name: 'Newer', supports_cost_data: null, is_listed: true }]);
  expect(await refreshPartners({ ...scene.run(firstNight), service: said('Older', true) })).toEqual({ rows: 1 });
  expect(await history()).toEqual(before);
  expect(scene.events.flatMap((event) => (event.type === 'warning' ? [event.code] : []))).toEqual(['AS_OF_OLDER']);
});

test('a failed second page leaves the partners as they were', async () => {
  scene = await openLinksScene({ world: { partners: 60 } });
  await refreshPartners(scene.run(firstNight));
  const before = await history();
  scene.simulator.script({
    match: ({ query }) => query.has('after'),
    times: 1,
    fault: { kind: 'status', status: 400 },
  });
  await expect(refreshPartners(scene.run(secondNight))).rejects.toMatchObject({ code: 'SOURCE_REFUSED' });
  expect(await history()).toEqual(before);
});

test('a partner that the rows of a night killed before its end brought is found by that night run again, which loads nothing', async () => {
  scene = await openLinksScene();
  const daily = slice({ name: 'daily', dimensions: ['day', 'partner_id', 'partner_name'], metrics: ['installs'] });
  const scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  try {
    const [first, second] = [new Date(firstNight), new Date(secondNight)];
    await scenario.night(first, { partners: true });
    scenario.simulator.script({
      match: ({ path }) => path.endsWith('/report'),
      times: 1,
      fault: {
        kind: 'report',
        mutate: combined(replacedValue(0, 'partner_id', '-777'), replacedValue(0, 'partner_name', 'Late')),
      },
    });
    const { run_id: runId } = await scenario.night(second, { partners: true });
    const emit = (): void => {};
    const warehouse = await openWarehouse(scenario.config.warehouse, { mode: 'write', lockWaitMs: 0, emit });
    // What a kill between the last load and the partners leaves.
    await warehouse.run(`update ripen.runs set status = 'running', finished_at = null where run_id = $1`, [runId]);
    await warehouse.run('update ripen.partner_scans set load_id = 1');
    for (const table of ['partners', 'partners_history']) {
      expect(await warehouse.run(`delete from main.${table} where partner_id = '-777'`)).toBe(1);
    }
    await warehouse.close();
    expect((await scenario.night(second, { partners: true })).slices).toMatchObject([{ windows: { planned: 0 } }]);
    expect(
      await query(scenario, `select display_name, is_listed from main.partners where partner_id = '-777'`),
    ).toEqual([{ display_name: 'Late', is_listed: false }]);
    expect(await column(scenario, 'select partner_id from main.partners where not is_listed order by 1')).toEqual(
      await column(
        scenario,
        `select distinct partner_id from main.daily
         where partner_id not in (select partner_id from main.partners where is_listed) order by 1`,
      ),
    );
  } finally {
    await scenario.close();
  }
});
