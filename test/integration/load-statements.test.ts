/** The generated statements of a load, for one slice whose names would break careless SQL, on a real warehouse. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { finalView } from '../../src/load/describing.ts';
import { resolveOddTexts } from '../../src/load/odd-texts.ts';
import {
  recordRestatements,
  sumWindow,
  sumParts,
  totalAfter,
  totalPeriods,
  totalTyped,
} from '../../src/load/sums-sql.ts';
import {
  deleteDays,
  duplicateKeys,
  insertRows,
  PART,
  rowsOutside,
  staging,
  typedRows,
  WINDOW,
  windowsOutOfOrder,
  stagedTexts,
} from '../../src/load/window-sql.ts';
import { openColumnReader } from '../../src/spool/columns/column-reader.ts';
import { createTable, tableColumns } from '../../src/load/target.ts';
import { badLabels, countUndated, oddTexts, rejectedRows, typeRows } from '../../src/load/text-sql.ts';
import { BIGINT } from '../../src/model/column-type.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import {
  AMOUNT,
  columns,
  COUNT,
  days,
  everyDate,
  EXTRA,
  QUOTED,
  RATIO,
  TABLE,
  target,
} from '../support/quoted-names.ts';

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

  test('rows are staged as text, with the keys that came unasked', async () => {
    const reader = openColumnReader();
    const read = await reader.read({
      bodies: [{ path: file, encoding: 'identity', plainBytes: 9 }],
      columns: {
        dimensions: columns.dimensions.map((name) => ({ name, kind: 'text' })),
        metrics: columns.metrics.map(({ id, type }) => ({ name: id, type })),
      },
      to: `${file}.parquet`,
      textsBecause: 'a test',
    });
    await reader.close();
    const [envelope] = read.envelopes;
    expect(envelope).toMatchObject({ rows: 6, because: null });
    expect(envelope?.keys.slice(-2)).toEqual([EXTRA, 'plain']);
    const part = { file: `${file}.parquet`, firstBody: 0, bodies: 1, pages: { length: 1 }, types: null };
    await warehouse.run(stagedTexts(columns, [{ ...part, windowNo: 3, partNo: 0 }]));
    expect(
      await all(`select count(*)::integer as n, count("_extra")::integer as extra from ${staging.staged}`),
    ).toEqual([{ n: 6, extra: 2 }]);
    const staged = await all(`select * exclude (attr_dependency, ${PART}) from ${staging.staged} limit 2`);
    expect(staged.map(({ _extra, ...others }) => [parsed(_extra), others])).toEqual([
      [
        { [EXTRA]: 'x' },
        { 'window,': 3, day: '2026-01-05', [QUOTED]: 'a', order: '', [COUNT]: '7', [AMOUNT]: '0.1', [RATIO]: '0.25' },
      ],
      [
        { plain: 5 },
        { 'window,': 3, day: '2026-01-05', [QUOTED]: 'b', order: null, [COUNT]: '1e3', [AMOUNT]: '0.2', [RATIO]: '' },
      ],
    ]);
  });

  test('texts in an unusual form are found, and typed exactly or set aside with their row', async () => {
    const texts = await warehouse.rows(oddTexts(columns), [], z.object({ metric: z.string(), text: z.string() }));
    expect(new Set(texts.map(({ metric: id, text }) => `${id}: ${text}`))).toEqual(
      new Set([`${COUNT}: 1e3`, `${COUNT}: NaN`]),
    );
    const { plain, notNumbers } = resolveOddTexts(texts, [{ id: COUNT, type: BIGINT, declared: BIGINT }]);
    await warehouse.run(`create temp table ${staging.plainTexts} (metric varchar, text varchar, plain varchar)`);
    await warehouse.run(`create temp table ${staging.notNumbers} (metric varchar, text varchar, reason varchar)`);
    for (const each of plain)
      await warehouse.run(`insert into ${staging.plainTexts} values ($1, $2, $3)`, [
        each.metric,
        each.text,
        each.plain,
      ]);
    for (const each of notNumbers)
      await warehouse.run(`insert into ${staging.notNumbers} values ($1, $2, $3)`, [
        each.metric,
        each.text,
        each.reason,
      ]);
    await warehouse.run(typeRows(columns, new Set([COUNT]), new Set([COUNT])));
    const [rejected] = await all(rejectedRows(columns, new Set([COUNT])));
    expect(rejected).toMatchObject({ window_no: 3, reason: `${COUNT}: not a number: NaN` });
    expect(parsed(rejected?.['row'])).toEqual(rows[4]);
    const typed = await all(
      `select "day", "app ""quoted""" as app, "order", columns(c -> c in (${[COUNT, AMOUNT, RATIO].map((id) => `'${id.replaceAll("'", "''")}'`).join(', ')}))::varchar
       from ${staging.typed} order by "day", app, "order" nulls last`,
    );
    expect(typed).toEqual([
      { day: '2026-01-05', app: 'a', order: '', [COUNT]: '7', [AMOUNT]: '0.100000', [RATIO]: '0.25' },
      { day: '2026-01-05', app: 'b', order: null, [COUNT]: '1000', [AMOUNT]: '0.200000', [RATIO]: null },
      { day: '2026-01-06', app: 'a', order: '', [COUNT]: null, [AMOUNT]: '12345678901.123456', [RATIO]: '1e-07' },
      { day: '2026-01-06', app: 'a', order: '', [COUNT]: null, [AMOUNT]: '12345678901.123456', [RATIO]: '1e-07' },
      { day: '2026-01-08', app: 'd', order: 'x', [COUNT]: '1', [AMOUNT]: '1.000000', [RATIO]: '1.0' },
    ]);
  });

  test('the checks see 1 row outside the window, 1 key twice, no bad label, and exact sums', async () => {
    await warehouse.run(totalTyped(columns, 'day', days.start));
    expect(await all(rowsOutside('day', [[3, days]]))).toEqual([{ window_no: 3, rows: '1', example: '2026-01-08' }]);
    expect(await all(badLabels(columns))).toEqual([]);
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
    const shape = z.object({ window_no: z.number(), sums: z.array(z.string()), magnitudes: z.array(z.number()) });
    const [sums] = await warehouse.rows(sumParts(columns), [], shape);
    expect(sums).toMatchObject({ window_no: 3, sums: ['1008', '24691357803.546912'] });
    // Magnitudes are added up in floating point, in any order.
    expect(sums?.magnitudes.map(Math.round)).toEqual([1008, 24_691_357_804]);
    const [distinct] = await warehouse.rows(
      sumWindow(columns, { windowNo: 3, isDistinct: true, withRejected: false }),
      [],
      shape,
    );
    expect(distinct?.sums).toEqual(['1008', '12345678902.423456']);
    expect(await all(windowsOutOfOrder('day'))).toEqual([]);
    await warehouse.run(`create temp table backwards as select * from ${staging.typed} order by "day" desc`);
    expect(await all(windowsOutOfOrder('day').replace(`from ${staging.typed}`, 'from backwards'))).toEqual([
      { window_no: 3 },
    ]);
    expect(await all(countUndated(columns) ?? '')).toEqual([{ rows: '0' }]);
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
          rows: typedRows([3]),
          types: columns.metrics.map(({ type }) => type),
          loadIds: [null, null, null, '42'],
          within: days,
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

describe('the labels of dates', () => {
  test('become the first day of their bucket, and one that is none is shown as it came', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'ripen-labels-'));
    const warehouse = await openWarehouse(join(directory, 'w.duckdb'), {
      mode: 'write',
      lockWaitMs: 0,
      emit: () => {},
    });
    const names = everyDate.dimensions.map((name) => `"${name}"`);
    const fill = async (labels: readonly (string | null)[]): Promise<void> => {
      await warehouse.run(
        `create or replace temp table ${staging.staged} as
         select 1 as ${WINDOW}, 0 as ${PART}, ${names.map((name, index) => `$${index + 1}::varchar as ${name}`).join(', ')},
             ${everyDate.metrics.map(({ id }) => `null::varchar as "${id.replaceAll('"', '""')}"`).join(', ')},
             '{}'::json as attr_dependency, null::json as "_extra"`,
        labels,
      );
      await warehouse.run(typeRows(everyDate, new Set(), new Set()));
    };
    try {
      await fill(['2026-02-28T23:30:00', '2024-02-29', '2025-12-28 - 2026-01-03', '2026-02', 'Q4 2025', '2026']);
      expect(await warehouse.rows(`select ${names.join(', ')} from ${staging.typed}`, [], anyRow)).toEqual([
        {
          hour: '2026-02-28 23:30:00',
          day: '2024-02-29',
          week: '2025-12-28',
          month: '2026-02-01',
          quarter: '2025-10-01',
          year: '2026-01-01',
        },
      ]);
      expect(await warehouse.rows(badLabels(everyDate), [], anyRow)).toEqual([]);
      const bad = ['2026-02-28 23:30', '2026-02-30', '2026-01-05', '2026-13', 'Q5 2026', null];
      await fill(bad);
      const found = await warehouse.rows(badLabels(everyDate), [], anyRow);
      expect(found.map(({ dimension, label }) => [dimension, label])).toEqual(
        everyDate.dimensions.map((name, index) => [name, bad[index] ?? 'null']),
      );
    } finally {
      await warehouse.close();
      await rm(directory, { recursive: true });
    }
  });
});
