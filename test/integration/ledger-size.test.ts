/** What a run reads of a large ledger before it plans, in the memory of the engine. */

import { afterEach, expect, test } from 'vitest';

import { fingerprintOf } from '../../src/model/slice.ts';
import { readSliceLedger } from '../../src/warehouse/ledger.ts';
import { controlEvidence } from '../../src/warehouse/tables/lost-apps.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { openScratch } from '../support/scratch-warehouse.ts';
import { slice } from '../support/slice.ts';

let scratch: Awaited<ReturnType<typeof openScratch>>;

afterEach(async () => scratch.close());

test('120 ages of 1,200 days of a cube are read whole and in order, beside a small slice', async () => {
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
    slices.map(async (of) => readSliceLedger(warehouse, of.slice)),
  );
  const ages = [...(cube?.live?.ages?.values() ?? [])];
  expect(ages.map(({ size }) => size)).toEqual(Array.from({ length: 120 }, () => 1200));
  const days = [...(ages[0]?.keys() ?? [])];
  expect([days[0], days.at(-1)]).toEqual(['2022-01-01', '2025-04-14']);
  expect(days).toEqual(days.toSorted());
  expect([...(small?.live?.periods.keys() ?? [])]).toEqual(['2022-01-01']);
}, 60_000);

test('70 slices with 400 days of 10 metrics that were loaded without control totals are due once these are read', async () => {
  scratch = await openScratch();
  const { warehouse } = scratch;
  const metrics = Array.from({ length: 10 }, (_, at) => `m${at}`);
  const slices = Array.from({ length: 70 }, (_, at) =>
    slice({ name: `s${at}`, dimensions: ['day', 'app'], metrics }),
  );
  const tables = slices.map((of, at) => {
    return { slice: of.name, fingerprint: fingerprintOf(of), control: 'c', load_id: at + 1 };
  });
  for (const { load_id: _, ...table } of tables)
    await storeRows(warehouse, 'ripen.slice_tables', table);
  for (const { control: _, ...of } of tables)
    await storeRows(warehouse, 'ripen.loads', { ...of, metrics, start_day: '2024-12-01' });
  await storeRows(
    warehouse,
    'ripen.slice_metrics',
    ...slices.flatMap(({ name }) =>
      metrics.map((metric, position) => ({ slice: name, metric, position, comparable_seconds: 0 })),
    ),
  );
  for (const { control: _, ...of } of tables)
    await storeRows(warehouse, 'ripen.periods', { ...of, start_day: '2024-12-01' });
  await warehouse.run(`insert into ripen.periods by name
select p.* replace (start_day + d::integer as start_day, end_day + d::integer as end_day)
from ripen.periods as p, range(1, 400) as t(d)`);
  await warehouse.run(`insert into ripen.control_totals by name
select 'c' as control, 'm' || m as metric, timestamp '2024-12-01' + to_days(d::integer) as starts_at, timestamp '2026-03-01' as seen_at, d + 0.5 as value
from range(400) as t(d), range(10) as u(m)`);
  await warehouse.run(`insert into ripen.control_readings
values ('c', 'later', '2026-03-01', '2024-12-01', '2026-02-28', ['${metrics.join("', '")}'])`);
  const at = new Date('2026-03-01T03:00:00Z');
  const evidence = await controlEvidence({ controlMs: 1 }, warehouse, slices, at, new Map());
  expect([...evidence.values()].map(({ moved }) => moved.length)).toEqual(slices.map(() => 4000));
  expect(evidence.get('s69')?.moved.at(-1)).toMatchObject({ start: '2026-01-04', isKnown: false });
}, 60_000);
