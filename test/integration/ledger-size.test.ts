/** The ledger of a cube has a row for each period and age. */

import { afterEach, expect, test } from 'vitest';

import { readSliceLedger } from '../../src/warehouse/ledger.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let scratch: Awaited<ReturnType<typeof openScratch>>;

afterEach(async () => scratch.close());

test('a ledger of 120 ages of 1,200 days is read in the memory of the engine, whole and in order, beside a small one', async () => {
  scratch = await openScratch();
  const { warehouse } = scratch;
  const slices = [{ slice: 'cube' }, { slice: 'small' }];
  await storeRows(warehouse, 'ripen.slice_tables', ...slices);
  await storeRows(warehouse, 'ripen.loads', ...slices);
  const first = { start_day: '2022-01-01', load_id: 1 };
  await storeRows(warehouse, 'ripen.periods', ...slices.map((of) => ({ ...of, ...first })));
  await warehouse.run(`insert into ripen.periods by name
select p.* replace (start_day + d::integer as start_day, end_day + d::integer as end_day, 'd' || a as age)
from ripen.periods as p, range(1200) as t(d), range(1, 121) as u(a)
where slice = 'cube'`);
  await warehouse.run(`delete from ripen.periods where slice = 'cube' and age = ''`);
  const [cube, small] = await Promise.all(
    slices.map(async ({ slice }) => readSliceLedger(warehouse, slice)),
  );
  const ages = [...(cube?.live?.ages?.values() ?? [])];
  expect(ages.map(({ size }) => size)).toEqual(Array.from({ length: 120 }, () => 1200));
  const days = [...(ages[0]?.keys() ?? [])];
  expect([days[0], days.at(-1)]).toEqual(['2022-01-01', '2025-04-14']);
  expect(days).toEqual(days.toSorted());
  expect([...(small?.live?.periods.keys() ?? [])]).toEqual(['2022-01-01']);
}, 60_000);
