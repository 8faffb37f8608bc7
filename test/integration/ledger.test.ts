/** The ledger of slices, read back as it was written. */

import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { emptyLedger, type LoadedPeriod, type SliceTable } from '../../src/model/ledger.ts';
import {
  confirmParts,
  forgetParts,
  learnMaxDays,
  learnParts,
  learnWeekStart,
  readSliceLedger,
  relaxMaxDays,
} from '../../src/warehouse/ledger.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let warehouse: Warehouse;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ warehouse } = scratch);
  return scratch.close;
});
/** `a` has a live table and one being built, `b` a live one of the same meaning, `c` only one being built. */
beforeEach(async () => {
  for (const table of ['slice_tables', 'periods', 'loads']) await warehouse.run(`delete from ripen.${table}`);
  await warehouse.run(`insert into ripen.slice_tables (slice, fingerprint, table_name, state, created_at) values
    ('a', 'f1', 'a', 'live', now()), ('a', 'f2', 'a__f2', 'building', now()),
    ('b', 'f1', 'b', 'live', now()), ('c', 'f3', 'c__f3', 'building', now())`);
});

/** A period of which a later load brought fewer metrics; its newest load counts. */
async function addPeriods(): Promise<void> {
  await warehouse.run(`insert into ripen.loads
    select l.id, 'r', l.slice, l.fingerprint, date '2026-01-05', date '2026-01-12', ['new'], '{}', l.metrics, 1, 0, 0, 0, 0,
           'proven', '[]', timestamp '2026-02-02 03:00:00.250', now(), now(), now()
    from (values (7, 'a', 'f1', ['installs', 'cost']), (8, 'a', 'f2', ['clicks']), (9, 'b', 'f1', ['revenue']))
         as l (id, slice, fingerprint, metrics)`);
  await warehouse.run(`insert into ripen.periods
    select p.slice, p.fingerprint, p.start_day, p.start_day + 7, p.start_day + 2, p.start_day + 6, p.load_id,
           timestamp '2026-02-01 02:30:00.125', p.start_day + 7, false, p.load_id * 100, p.load_id, 'maturing', null, 0, 'proven', null, null, null
    from (values ('a', 'f1', date '2026-01-12', 7), ('a', 'f1', date '2026-01-05', 7), ('a', 'f2', date '2026-01-05', 8),
                 ('b', 'f1', date '2026-01-05', 9)) as p (slice, fingerprint, start_day, load_id)`);
}

const table = { slice: 'a', fingerprint: 'f1' } as const;

async function live(slice = 'a'): Promise<SliceTable | null> {
  return (await readSliceLedger(warehouse, slice)).live;
}

describe('a slice', () => {
  test('that was never loaded is known as the empty ledger', async () => {
    expect(await readSliceLedger(warehouse, 'd')).toEqual(emptyLedger);
  });

  test('has its live table apart from the one being built, and neither is another slice of the same meaning', async () => {
    const known = { weekStartsOn: null, maxDays: null, parts: null, partsNeededAt: null, periods: new Map() };
    expect(await readSliceLedger(warehouse, 'a')).toEqual({
      live: { ...known, fingerprint: 'f1', state: 'live' },
      building: { ...known, fingerprint: 'f2', state: 'building' },
    });
    expect(await readSliceLedger(warehouse, 'c')).toEqual({
      live: null,
      building: { ...known, fingerprint: 'f3', state: 'building' },
    });
  });

  test('has of each period its bucket, the days asked for, the instants, the rows, and what the newest load brought', async () => {
    await addPeriods();
    const period = (first: string, asked: string, askedEnd: string, end: string): LoadedPeriod => ({
      bucket: { start: day(first), end: day(end) },
      asked: { start: day(asked), end: day(askedEnd) },
      fetchedAt: new Date('2026-02-01T02:30:00.125Z'),
      requestedAt: new Date('2026-02-02T03:00:00.250Z'),
      metrics: ['installs', 'cost'],
      rows: 700,
      rejected: 7,
      emptyRuns: 0,
      verdict: 'proven',
    });
    const periods = (await live())?.periods ?? new Map<string, LoadedPeriod>();
    expect([...periods]).toEqual([
      ['2026-01-05', period('2026-01-05', '2026-01-07', '2026-01-11', '2026-01-12')],
      ['2026-01-12', period('2026-01-12', '2026-01-14', '2026-01-18', '2026-01-19')],
    ]);
  });

  test('has the periods of each meaning apart', async () => {
    await addPeriods();
    const { building } = await readSliceLedger(warehouse, 'a');
    expect([...(building?.periods.values() ?? [])].map(({ metrics, rows }) => [metrics, rows])).toEqual([
      [['clicks'], 800],
    ]);
    expect([...((await live('b'))?.periods.keys() ?? [])]).toEqual(['2026-01-05']);
  });
});

describe('what is learned of a table', () => {
  test.each([0, 1] as const)('is the weekday %i that the service begins its weeks with', async (weekday) => {
    await learnWeekStart(warehouse, table, weekday);
    expect((await live())?.weekStartsOn).toBe(weekday);
  });

  test.each([
    { learned: [8], days: 8 },
    { learned: [8, 4], days: 4 },
    { learned: [4, 8], days: 4 },
    { learned: [1, 0], days: 1 },
    { learned: [-3], days: 1 },
  ])(
    'is the least number of days that was too heavy for one request: of $learned it is $days',
    async ({ learned, days }) => {
      for (const each of learned) await learnMaxDays(warehouse, table, each);
      expect((await live())?.maxDays).toBe(days);
    },
  );

  test.each([
    { allowed: 4, loaded: 3, days: 4 },
    { allowed: 4, loaded: 4, days: 8 },
    { allowed: 4, loaded: 31, days: 8 },
  ])(
    'with $allowed days allowed, windows of $loaded days that were light allow $days',
    async ({ allowed, loaded, days }) => {
      await learnMaxDays(warehouse, table, allowed);
      await relaxMaxDays(warehouse, [{ ...table, days: loaded }]);
      expect((await live())?.maxDays).toBe(days);
    },
  );

  test('stays unlimited where nothing was too heavy', async () => {
    await relaxMaxDays(warehouse, [{ ...table, days: 31 }]);
    expect((await live())?.maxDays).toBeNull();
  });

  test('are the parts a period was divided into, values with quotes and none of them too', async () => {
    const parts = [
      { app_token: { in: ['a', "b'c", 'd"e'], notIn: [] } },
      { app_token: { in: null, notIn: ['a', "b'c", 'd"e'] }, os_name: { in: ['ios'], notIn: [''] } },
    ];
    const first = new Date('2026-02-01T02:30:00Z');
    await learnParts(warehouse, table, parts, first);
    await learnParts(warehouse, table, parts, new Date('2026-02-02T02:30:00Z'));
    expect(await live()).toMatchObject({ parts, partsNeededAt: first });
    const later = new Date('2026-02-09T02:30:00Z');
    await confirmParts(warehouse, table, later);
    expect(await live()).toMatchObject({ parts, partsNeededAt: later });
    const others = [...parts, { os_name: { in: null, notIn: ['ios'] } }];
    await learnParts(warehouse, table, others, first);
    expect(await live()).toMatchObject({ parts: others, partsNeededAt: first });
    await forgetParts(warehouse, table, 3);
    expect(await live()).toMatchObject({ parts: null, partsNeededAt: null, maxDays: 3 });
  });

  test('is of that table alone: neither of the one being built nor of another slice of the same meaning', async () => {
    const others = async (): Promise<unknown> => [
      (await readSliceLedger(warehouse, 'a')).building,
      await readSliceLedger(warehouse, 'b'),
      await readSliceLedger(warehouse, 'c'),
    ];
    await warehouse.run("update ripen.slice_tables set max_days = 2 where not (slice = 'a' and fingerprint = 'f1')");
    const before = await others();
    await learnWeekStart(warehouse, table, 0);
    await learnMaxDays(warehouse, table, 1);
    await relaxMaxDays(warehouse, [{ ...table, days: 2 }]);
    await learnParts(warehouse, table, [{}], new Date());
    await confirmParts(warehouse, table, new Date());
    expect(await live()).toMatchObject({ weekStartsOn: 0, maxDays: 2, parts: [{}] });
    await forgetParts(warehouse, table, 3);
    expect(await others()).toEqual(before);
  });
});
