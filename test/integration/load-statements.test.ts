/** The generated statements of a load, for one slice whose names would break careless SQL, on a real warehouse. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { finalView } from '../../src/load/describing.ts';
import {
  recordRestatements,
  sumDistinct,
  sumParts,
  totalAfter,
  totalPeriods,
  totalTyped,
} from '../../src/load/sums-sql.ts';
import { createTable, tableColumns } from '../../src/load/target.ts';
import { stagedRows, staging } from '../../src/load/staged-sql.ts';
import { deleteDays, duplicateKeys, insertRows, rejectedRows, rowsOutside } from '../../src/load/window-sql.ts';
import { openColumnReader } from '../../src/spool/columns/column-reader.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { AMOUNT, columns, COUNT, days, EXTRA, QUOTED, RATIO, TABLE, target } from '../support/quoted-names.ts';

const rows = [
  {
    day: '2026-01-05',
    [QUOTED]: 'a',
    order: '',
    [COUNT]: '7',
    [AMOUNT]: '0.1',
    [RATIO]: '0.25',
    attr_dependency: { id: '9' },
    [EXTRA]: 'x',
  },
  {
    day: '2026-01-05',
    [QUOTED]: 'b',
    order: null,
    [COUNT]: '1e3',
    [AMOUNT]: '0.2',
    [RATIO]: '',
    attr_dependency: {},
    plain: 5,
  },
  {
    day: '2026-01-06',
    [QUOTED]: 'a',
    order: '',
    [COUNT]: null,
    [AMOUNT]: '12345678901.123456',
    [RATIO]: '1e-7',
    attr_dependency: {},
  },
  {
    day: '2026-01-06',
    [QUOTED]: 'a',
    order: '',
    [COUNT]: null,
    [AMOUNT]: '12345678901.123456',
    [RATIO]: '1e-7',
    attr_dependency: {},
  },
  { day: '2026-01-07', [QUOTED]: 'c', order: 'x', [COUNT]: 'NaN', [AMOUNT]: '1', [RATIO]: '1', attr_dependency: {} },
  { day: '2026-01-08', [QUOTED]: 'd', order: 'x', [COUNT]: '1', [AMOUNT]: '1', [RATIO]: '1', attr_dependency: {} },
];

const anyRow = z.record(z.string(), z.unknown());

const parsed = (json: unknown): unknown => JSON.parse(z.string().parse(json));

describe('run one after the other on a warehouse', () => {
  let directory = '';
  let file = '';
  let warehouse: Warehouse;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), `ripen-it's-`));
    file = join(directory, 'answer "1".json');
    await writeFile(file, JSON.stringify({ rows, totals: { [COUNT]: 1008 }, warnings: [], pagination: null }));
    warehouse = await openWarehouse(join(directory, 'w.duckdb'), { mode: 'write', lockWaitMs: 0, emit: () => {} });
  });

  afterAll(async () => {
    await warehouse.close();
    await rm(directory, { recursive: true });
  });

  const all = (sql: string): Promise<Record<string, unknown>[]> => warehouse.rows(sql, [], anyRow);

  test('rows are staged exactly, with the keys that came unasked, and the one that holds no number with its reason', async () => {
    const reader = openColumnReader();
    const { envelopes, ...read } = await reader.read({
      bodies: [{ path: file, encoding: 'identity', plainBytes: 9 }],
      columns: {
        dimensions: columns.dimensions.map((name) => ({ name, kind: name === 'day' ? name : 'text' })),
        metrics: columns.metrics.map(({ id, type }) => ({ name: id, type })),
      },
      to: `${file}.parquet`,
    });
    await reader.close();
    const [envelope] = envelopes;
    expect(envelope).toMatchObject({ rows: 6, because: null });
    expect(envelope?.keys.slice(-2)).toEqual([EXTRA, 'plain']);
    const types = columns.metrics.map(({ type }) => type);
    const place = { file: `${file}.parquet`, firstBody: 0, bodies: 1, pages: { length: 1 } };
    const staged = stagedRows(columns, [{ ...read, ...place, types, windowNo: 3, partNo: 0 }], new Map());
    await warehouse.run(`create temp table ${staging.typed} as ${staged}`);
    const [rejected, ...others] = await all(rejectedRows('day', [3]));
    expect(others).toEqual([]);
    expect(rejected).toMatchObject({ window_no: 3, day: '2026-01-07' });
    expect(parsed(rejected?.['rejected'])).toEqual({
      row: JSON.stringify(rows[4]),
      reasons: [{ metric: COUNT, reason: `${COUNT}: not a number: NaN` }],
    });
    await warehouse.run(`delete from ${staging.typed} where "rejected," is not null`);
    const typed = await all(
      `select "day", "app ""quoted""" as app, "order", "_extra", columns(c -> c in (${[COUNT, AMOUNT, RATIO].map((id) => `'${id.replaceAll("'", "''")}'`).join(', ')}))::varchar
       from ${staging.typed} order by "day", app, "order" nulls last`,
    );
    const none = { _extra: null };
    expect(typed.map((each) => Object.assign({}, each, { _extra: parsed(each['_extra'] ?? 'null') }))).toEqual([
      {
        day: '2026-01-05',
        app: 'a',
        order: '',
        [COUNT]: '7',
        [AMOUNT]: '0.100000',
        [RATIO]: '0.25',
        _extra: { [EXTRA]: 'x' },
      },
      {
        day: '2026-01-05',
        app: 'b',
        order: null,
        [COUNT]: '1000',
        [AMOUNT]: '0.200000',
        [RATIO]: null,
        _extra: { plain: 5 },
      },
      {
        day: '2026-01-06',
        app: 'a',
        order: '',
        [COUNT]: null,
        [AMOUNT]: '12345678901.123456',
        [RATIO]: '1e-07',
        ...none,
      },
      {
        day: '2026-01-06',
        app: 'a',
        order: '',
        [COUNT]: null,
        [AMOUNT]: '12345678901.123456',
        [RATIO]: '1e-07',
        ...none,
      },
      { day: '2026-01-08', app: 'd', order: 'x', [COUNT]: '1', [AMOUNT]: '1.000000', [RATIO]: '1.0', ...none },
    ]);
  });

  test('the checks see 1 row outside the window, 1 key twice, and exact sums', async () => {
    await warehouse.run(totalTyped(columns, 'day', days.start));
    expect(await all(rowsOutside('day', [[3, days]]))).toEqual([{ window_no: 3, rows: '1', example: '2026-01-08' }]);
    const [twice, ...others] = await all(duplicateKeys(columns, [3]));
    expect(others).toEqual([]);
    expect(await all(duplicateKeys(columns, [2, 4]))).toEqual([]);
    expect(twice).toMatchObject({ window_no: 3, copies: '2', versions: '1' });
    expect(parsed(twice?.['key'])).toEqual({
      day: '2026-01-06',
      [QUOTED]: 'a',
      order: '',
      attr_dependency: {},
    });
    const shape = z.object({
      window_no: z.number(),
      sums: z.array(z.string()),
      magnitudes: z.array(z.number()),
      periods: z.string(),
    });
    const [sums] = await warehouse.rows(sumParts(columns), [], shape);
    expect(sums).toMatchObject({ window_no: 3, sums: ['1008', '24691357803.546912'] });
    // Magnitudes are added up in floating point, in any order.
    expect(sums?.magnitudes.map(Math.round)).toEqual([1008, 24_691_357_804]);
    expect(new Set(z.array(z.unknown()).parse(parsed(sums?.periods)))).toEqual(
      new Set([
        { start: '2026-01-05', rows: 2 },
        { start: '2026-01-06', rows: 2 },
        { start: '2026-01-08', rows: 1 },
      ]),
    );
    const [distinct] = await warehouse.rows(sumDistinct(columns, [3]), [], shape.pick({ sums: true }));
    expect(distinct?.sums).toEqual(['1008', '12345678902.423456']);
  });

  test('of a metric that is NULL in every row the sum is NULL and 0 values are not zero', async () => {
    const free = `select * replace (null::BIGINT as "${COUNT.replaceAll(`"`, `""`)}") from ${staging.typed}`;
    await warehouse.run(totalTyped(columns, 'day', days.start).replace(`from ${staging.typed}`, `from (${free})`));
    const shape = z.object({ sums: z.array(z.string().nullable()), non_zero: z.array(z.string().nullable()) });
    const [found] = await warehouse.rows(sumParts(columns), [], shape);
    expect(found).toEqual({ sums: [null, '24691357803.546912'], non_zero: ['0', '5'] });
    await warehouse.run(totalTyped(columns, 'day', days.start));
  });

  test('the window is replaced, its restatements recorded, and a second time nothing is restated', async () => {
    await warehouse.run(createTable(TABLE, columns));
    expect((await all(`describe ${TABLE}`)).map((column) => [column['column_name'], column['column_type']])).toEqual(
      tableColumns(columns).map(({ name, type }) => [name, type]),
    );
    await warehouse.run(`delete from ${staging.typed} where "day" >= DATE '2026-01-08'`);
    const replace = async (): Promise<number> => {
      const table = { table: TABLE, columns };
      await warehouse.run(totalPeriods('before', table, 'day', [days]));
      await warehouse.run(deleteDays(TABLE, 'day', days));
      const inserted = await warehouse.run(
        insertRows(TABLE, columns, 'day', {
          rows: `select * from ${staging.typed}`,
          loadIds: [null, null, null, '42'],
          where: null,
          collapse: true,
          isOrdered: true,
        }),
      );
      await warehouse.run(totalPeriods('after', table, 'day', [days]));
      const loads = [{ load_id: '42', seen_at: '2026-01-20 02:30:00', start_day: days.start, end_day: days.end }];
      await warehouse.run(recordRestatements(columns, new Set()) ?? '', ['daily', 'f', JSON.stringify(loads)]);
      return inserted;
    };
    const restated = (): Promise<Record<string, unknown>[]> =>
      all('select period, metric, before, after from ripen.restatements order by period, metric');
    expect(await replace()).toBe(3);
    expect(await restated()).toEqual([]);
    await warehouse.run(
      `insert into ripen.periods by name
       select 'daily' as slice, 'f' as fingerprint, d::date as start_day, d::date + 1 as end_day, d::date as asked_start,
           d::date + 1 as asked_end, 42 as load_id, timestamp '2026-01-20 02:30:00' as fetched_at,
           d::timestamp + interval 1 day as ends_at, true as whole, 1 as rows, 0 as rejected,
           fetched_at as sound_at, 'maturing' as state
       from (values ('2026-01-05'), ('2026-01-06')) as v (d)`,
    );
    await warehouse.run(
      `insert into ripen.loads by name
       select 42 as load_id, 'r' as run_id, 'daily' as slice, 'f' as fingerprint, date '2026-01-05' as start_day,
           date '2026-01-08' as end_day, ['new'] as reasons, '{}' as parameters, [$1, $2] as metrics, 1 as requests,
           1 as bytes, 3 as rows_fetched, 3 as rows_loaded, 0 as rows_rejected, 'proven' as verdict, '[]' as proof,
           now()::timestamp as requested_at, now()::timestamp as received_at, now()::timestamp as loaded_at`,
      [COUNT, AMOUNT],
    );
    expect(await replace()).toBe(3);
    expect(await restated()).toEqual([]);
    await warehouse.run(
      `update ${staging.typed} set "my event_revenue" = 0.25 where "app ""quoted""" = 'a' and "day" = DATE '2026-01-05'`,
    );
    expect(await replace()).toBe(3);
    const moved = await restated();
    expect(moved).toEqual([
      { period: '2026-01-05', metric: AMOUNT, before: '0.300000000000', after: '0.450000000000' },
    ]);
    // What the staged rows count is what the table counts, but for the copy that was left out there.
    await warehouse.run(totalTyped(columns, 'day', days.start));
    const fromTable = await all(`select p, a0::varchar as s from ${staging.after} order by p`);
    await warehouse.run(totalAfter(columns, [3]));
    expect(await all(`select p, a0::varchar as s from ${staging.after} order by p`)).toEqual(fromTable);
  });

  test('the view shows a cell once its own horizon had passed at the fetch, and never one that is never final', async () => {
    await warehouse.run(finalView(target));
    const cells = await all(
      `select "day", count("${COUNT.replaceAll('"', '""')}")::integer as counts, count("my event_revenue")::integer as amounts,
           count("value")::integer as ratios, count("app ""quoted""")::integer as apps
       from daily_final group by all order by "day"`,
    );
    // Fetched on the 20th at 02:30: the 5th ended 14 days and 2.5 hours before, the 6th 13 days.
    expect(cells).toEqual([
      { day: '2026-01-05', counts: 2, amounts: 2, ratios: 0, apps: 2 },
      { day: '2026-01-06', counts: 0, amounts: 0, ratios: 0, apps: 1 },
    ]);
  });
});
