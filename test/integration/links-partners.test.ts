import { expect, test } from 'vitest';

import { completePartners, refreshPartners } from '../../src/links/refresh-partners.ts';
import type { Partner } from '../../src/model/link.ts';
import type { Service } from '../../src/service/service.ts';
import { openLinksScene, type LinksScene } from '../support/links-scene.ts';

let scene: LinksScene;

const firstNight = '2026-06-01T02:30:00Z';
const secondNight = '2026-06-02T02:30:00Z';

const current = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  scene.rows('select * from main.partners order by partner_id');
/** Id, name and whether it is listed. */
const said = async (): Promise<unknown[]> =>
  (await current()).map((row) => [row['partner_id'], row['display_name'], row['is_listed']]);
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
  await refreshPartners(scene.run(firstNight));
  expect(scene.events).toContainEqual({ type: 'partners_loaded', rows: 120 });
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

/** A live slice whose rows, brought by the loads 1 and 2, name two partners. */
async function carryingRows(): Promise<void> {
  await scene.warehouse.run(
    `create table carrying as
     select '3' as partner_id, 'Three' as partner_name, '{}'::json as attr_dependency, 1::bigint as _load_id
     union all select null, null, '{"partner_id":["-300"]}'::json, 2`,
  );
  await scene.warehouse.run(
    `insert into ripen.slice_tables (slice, fingerprint, table_name, state, created_at)
     values ('carrying', 'f', 'main."carrying"', 'live', now())`,
  );
  await scene.warehouse.run(
    `insert into ripen.loads
     select 2::bigint, 'run', 'carrying', 'f', '2026-05-31', '2026-06-01', [], '{}', [], 1, 1, 1, 1, 0, 'proven', '{}',
         now(), now(), now(), now()`,
  );
}

test('a renamed partner gets a second version, one that is listed no more stays as not listed, as does one that rows alone carry', async () => {
  scene = await openLinksScene();
  await carryingRows();
  const partner = (id: string, displayName: string): Partner => ({ id, displayName, supportsCostData: false });
  const before = listing([
    [partner('1', 'One'), partner('2', 'Two')],
    [partner('3', 'Three'), partner('1', 'Uno')],
  ]);
  await refreshed(firstNight, before);
  expect(await said()).toEqual([
    ['-300', '', false],
    ['1', 'Uno', true],
    ['2', 'Two', true],
    ['3', 'Three', true],
  ]);

  await refreshed(secondNight, listing([[partner('1', 'Ein'), partner('2', 'Two')]]));
  expect(await said()).toEqual([
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
