/** Every generated statement of a load as text (test/golden/load), for one slice whose names would break careless SQL. */

import { describe, expect, test } from 'vitest';

import { finalView } from '../../src/tables/describing.ts';
import { type StagedPart, stagedRows, stageRows } from '../../src/load/staged-sql.ts';
import {
  countShrunk,
  deleteRows,
  insertRows,
  totalStaged,
  totalTable,
} from '../../src/load/table-sql.ts';
import { type Columns, createTable, type Target } from '../../src/tables/target.ts';
import {
  duplicateKeys,
  rejectedRows,
  sumDistinct,
  sumParts,
  totalTyped,
} from '../../src/load/window-sql.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { BIGINT, DOUBLE, MONEY, parseColumnType } from '../../src/model/column-type.ts';
import { countMetric, slice } from '../support/slice.ts';

const TABLE = 'main."daily"';
const RATIO = 'value';
const COUNT = `o'brien said "hi"_events`;
const AMOUNT = 'my event_revenue';

const columns: Columns = {
  dimensions: ['day', 'app "quoted"', 'order'],
  metrics: [
    countMetric(COUNT, 7),
    { ...countMetric(AMOUNT, 14), type: MONEY, additivity: 'assumed' },
    { ...countMetric(RATIO, null), type: DOUBLE, additive: false, additivity: 'assumed' },
  ],
};
const days = { start: day('2026-01-05'), end: day('2026-01-08') };
const target: Target = {
  slice: slice({
    name: 'daily',
    dimensions: columns.dimensions,
    metrics: columns.metrics.map(({ id }) => id),
  }),
  fingerprint: 'f',
  state: 'live',
  table: TABLE,
  columns,
  catalog: [],
};

const exact = (...types: readonly string[]): Columns => ({
  ...columns,
  metrics: types.map((text) => {
    const type = parseColumnType(text) ?? MONEY;
    return Object.assign(countMetric(text, 7), { type });
  }),
});
const wide = exact('DECIMAL(38,0)', 'DECIMAL(30,12)', 'DECIMAL(38,26)');
const hourly: Target = {
  ...target,
  slice: slice({ ...target.slice, name: 'hourly', dimensions: ['hour'], grain: 'hour' }),
};

const later = { start: addDays(days.end, 7), end: addDays(days.end, 8) };

const types = columns.metrics.map(({ type }) => type);
const page = {
  rows: 1,
  members: new Map(),
  keys: [],
  commonKeys: [],
  badLabel: null,
  because: null,
};
const read = {
  rows: 1,
  unfit: new Map(),
  digits: new Map(),
  hasExtra: false,
  hasRejected: false,
  weekStartsOn: null,
};
const alone = {
  ...read,
  isOrdered: true,
  isDistinct: true,
  firstBody: 0,
  bodies: 1,
  pages: [page],
  types,
};
const files: StagedPart[] = [
  { ...alone, file: `/spool/it's here.parquet`, windowNo: 1, partNo: 0 },
  { ...alone, file: '/spool/b.parquet', windowNo: 3, partNo: 2 },
];
const shared = { ...alone, file: '/spool/d.parquet', bodies: 4, hasExtra: true, hasRejected: true };
const sharing = [
  { ...shared, windowNo: 0, partNo: 0 },
  { ...shared, firstBody: 2, pages: [page, page], windowNo: 5, partNo: 1 },
];
const unchanged = new Map<string, string>();
const loads = [
  { loadId: '41', window: { replaced: days }, judged: { sound: { windowNo: 1 } } },
  { loadId: '42', window: { replaced: later }, judged: { sound: { windowNo: 3 } } },
];
const inserted = {
  isWhole: false,
  hasRejected: true,
  rows: 'select * from there',
  hasCopies: false,
  isOrdered: true,
};
const narrower = {
  ...alone,
  file: '/spool/c.parquet',
  types: [BIGINT, BIGINT, MONEY],
  windowNo: 3,
  partNo: 3,
};

const batches = [
  ...files,
  { ...alone, file: '/spool/e.parquet', windowNo: 3, partNo: 2, hasExtra: true, isDistinct: false },
];

const undated: Target = {
  ...target,
  slice: slice({ ...target.slice, dimensions: ['order'], grain: null }),
};
const cube: Target = {
  ...target,
  columns: {
    ...columns,
    cube: {
      value: MONEY,
      of: new Map([[RATIO, { metric: RATIO, cohort: 'c', age: 'd7', ageDays: 7 }]]),
    },
  },
};

/** Each built when its test runs. */
const statements: Record<string, () => string> = {
  'create-table': () => createTable(TABLE, columns),
  'create-cube': () => createTable(TABLE, cube.columns),
  'staged-rows': () => stagedRows(columns, files, unchanged),
  'staged-rows-of-other-types': () => stagedRows(columns, [...files, narrower], unchanged),
  'staged-rows-of-shared-files': () =>
    stagedRows(columns, [...files, ...sharing], new Map([[RATIO, 'nullif("value", 0)']])),
  'staged-rows-of-batches': () => stagedRows(columns, batches, unchanged),
  'stage-no-rows': () => stageRows({ columns, parts: [], replacing: unchanged }),
  'rejected-rows': () => rejectedRows('day', [3]),
  'duplicate-keys': () => duplicateKeys(columns, [0, 3]),
  'sum-metrics': () => sumParts(columns),
  'sum-metrics-of-distinct-rows': () => sumDistinct(columns, [3]),
  'delete-hours': () => deleteRows(hourly, days),
  'insert-rows': () => insertRows(target, loads, { ...inserted, isOrdered: false }),
  'insert-rows-of-whole-windows': () =>
    insertRows(target, loads, { ...inserted, isWhole: true, hasRejected: false }),
  'insert-rows-collapsed': () => insertRows(undated, loads, { ...inserted, hasCopies: true }),
  'insert-cells': () => insertRows(cube, loads, inserted),
  'total-typed': () => totalTyped(columns, 'day', days.start),
  'total-typed-of-wide-columns': () => totalTyped(wide, 'day', days.start),
  'sum-metrics-of-wide-columns': () => sumParts(wide),
  'total-staged': () => totalStaged(wide, [1, 3]),
  'count-shrunk': () => countShrunk([[COUNT, RATIO], [AMOUNT]], target, [days, later], [1, 3]),
  'total-table': () => totalTable('before', target, [days, later]),
  'total-table-of-hours': () => totalTable('after', hourly, [days]),
  'total-cube': () => totalTable('after', cube, [days]),
  'final-view': () => finalView(target),
  'final-view-of-hours': () => finalView(hourly),
};

describe('the generated statement', () => {
  test.each(Object.entries(statements))(
    '%s reads as in its golden file',
    async (name, statement) => {
      await expect(`${statement()}\n`).toMatchFileSnapshot(`../golden/load/${name}.sql`);
    },
  );

  test('compares the bare date column with literals, so that a deletion reads no other block', () => {
    expect(deleteRows(target, days)).toContain(
      `where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'`,
    );
    expect(deleteRows(undated, days)).toBe('delete from main."daily"\nwhere true');
    expect(totalTyped(columns, null, days.start)).toContain(`DATE '2026-01-05' as p`);
  });
});
