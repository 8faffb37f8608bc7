/** Every generated statement of a load as text (test/golden/load), for one slice whose names would break careless SQL. */

import { describe, expect, test } from 'vitest';

import { finalView } from '../../src/load/describing.ts';
import {
  fractionDigits,
  recordRestatements,
  sumWindow,
  sumParts,
  totalAfter,
  totalPeriods,
  totalTyped,
} from '../../src/load/sums-sql.ts';
import {
  additiveOf,
  columnRows,
  countPeriods,
  countUnfit,
  deleteDays,
  duplicateKeys,
  insertRows,
  insideDays,
  rowsOutside,
  sinceDay,
  stagedTexts,
  typedColumns,
  typedRows,
  windowsOutOfOrder,
} from '../../src/load/window-sql.ts';
import { type Columns, createTable, type Target } from '../../src/load/target.ts';
import {
  anyOdd,
  badLabels,
  countNoDoubles,
  countUndated,
  oddDigits,
  oddTexts,
  rejectedRows,
  typeRows,
} from '../../src/load/text-sql.ts';
import { addDays } from '../../src/model/calendar.ts';
import { BIGINT, DOUBLE, MONEY, parseColumnType } from '../../src/model/column-type.ts';
import { AMOUNT, columns, COUNT, days, everyDate, QUOTED, RATIO, TABLE, target } from '../support/quoted-names.ts';
import { slice } from '../support/slice.ts';

const exact = (...types: readonly string[]): Columns => ({
  ...columns,
  metrics: types.map((text) => {
    const type = parseColumnType(text) ?? MONEY;
    return { id: text, type, declared: type, additive: true, isAssumed: false };
  }),
});
const wide = exact('DECIMAL(38,0)', 'DECIMAL(30,12)', 'DECIMAL(38,26)');
/** No digit before the point. */
const belowOne = exact('DECIMAL(6,6)', 'DECIMAL(18,18)');
const hourly: Target = {
  ...target,
  slice: slice({ ...target.slice, name: 'hourly', dimensions: ['hour'], grain: 'hour' }),
};

const later = { start: addDays(days.end, 7), end: addDays(days.end, 8) };
const odd = new Set([COUNT, AMOUNT]);
const rejecting = new Set([COUNT, RATIO]);

const types = columns.metrics.map(({ type }) => type);
const alone = { firstBody: 0, bodies: 1, pages: { length: 1 } };
const files = [
  { ...alone, file: `/spool/it's here.parquet`, types, windowNo: 1, partNo: 0 },
  { ...alone, file: '/spool/b.parquet', types, windowNo: 3, partNo: 2 },
];
const shared = { file: '/spool/d.parquet', types, bodies: 4 };
const sharing = [
  { ...shared, firstBody: 0, pages: { length: 1 }, windowNo: 0, partNo: 0 },
  { ...shared, firstBody: 2, pages: { length: 2 }, windowNo: 5, partNo: 1 },
];
const inserted = {
  rows: typedRows([1, 3]),
  types,
  loadIds: [null, '41', null, '42'],
  within: null,
  collapse: false,
  isOrdered: true,
} as const;
const narrower = { ...alone, file: '/spool/c.parquet', types: [BIGINT, BIGINT, MONEY], windowNo: 3, partNo: 3 };

const unfit = [
  { id: AMOUNT, typed: { kind: 'DECIMAL', width: 22, scale: 10 }, stored: MONEY },
  { id: RATIO, typed: DOUBLE, stored: MONEY },
] as const;

/** Each built when its test runs. */
const statements: Record<string, () => string> = {
  'create-table': () => createTable(TABLE, columns),
  'staged-texts': () => stagedTexts(columns, files),
  'column-rows': () => columnRows(columns, files),
  'column-rows-of-other-types': () => columnRows(columns, [...files, narrower]),
  'column-rows-of-shared-files': () => columnRows(columns, [...files, ...sharing]),
  'typed-columns-of-no-rows': () => typedColumns('view', TABLE, columns, []),
  'any-odd': () => anyOdd,
  'odd-digits': () => oddDigits(columns) ?? '',
  'odd-texts': () => oddTexts(columns),
  'type-rows': () => typeRows(columns, new Set(), new Set()),
  'type-rows-with-odd-and-rejected-texts': () => typeRows(columns, odd, rejecting),
  'type-rows-of-wide-columns': () => typeRows(wide, new Set(), new Set()),
  'type-rows-of-columns-below-one': () => typeRows(belowOne, new Set(), new Set()),
  'type-rows-of-every-date': () => typeRows(everyDate, new Set(), new Set()),
  'rejected-rows': () => rejectedRows(columns, rejecting),
  'rejected-rows-without-a-date': () => rejectedRows({ ...columns, dimensions: [QUOTED] }, rejecting),
  'bad-labels': () => badLabels(everyDate),
  'bad-labels-beside-texts': () => badLabels(columns),
  'count-undated-beside-texts': () => countUndated(columns) ?? '',
  'count-undated': () => countUndated(everyDate) ?? '',
  'duplicate-keys': () => duplicateKeys(columns, [0, 3]),
  'rows-outside': () => rowsOutside('day', [[3, days]]),
  'sum-metrics': () => sumParts(columns),
  'type-rejected-rows': () => typeRows(columns, odd, rejecting, 'rejected'),
  'sum-metrics-of-distinct-rows': () => sumWindow(columns, { windowNo: 3, isDistinct: true, withRejected: false }),
  'sum-metrics-with-rejected-rows': () => sumWindow(columns, { windowNo: 3, isDistinct: false, withRejected: true }),
  'delete-days': () => deleteDays(TABLE, 'day', days),
  'delete-days-of-hours': () => deleteDays(TABLE, 'hour', days),
  'delete-days-without-a-date': () => deleteDays(TABLE, null, days),
  'insert-rows': () => insertRows(TABLE, columns, 'day', { ...inserted, isOrdered: false }),
  'insert-rows-in-order': () => insertRows(TABLE, columns, 'day', inserted),
  'windows-out-of-order': () => windowsOutOfOrder('day'),
  'insert-rows-collapsed': () => insertRows(TABLE, columns, null, { ...inserted, collapse: true, within: days }),
  'count-unfit': () => countUnfit(unfit, 3, insideDays('day', days)),
  'count-no-doubles': () => {
    const [count, money] = columns.metrics;
    if (count === undefined || money === undefined) throw new RangeError('Two metrics were expected.');
    return [count, money].map((metric) => countNoDoubles(metric, TABLE)).join(';\n');
  },
  'count-periods': () => countPeriods,
  'total-typed': () => totalTyped(columns, 'day', days.start),
  'total-typed-of-wide-columns': () => totalTyped(wide, 'day', days.start),
  'sum-metrics-of-wide-columns': () => sumParts(wide),
  'record-restatements-of-wide-columns': () => recordRestatements(wide, new Set()) ?? '',
  'total-typed-of-hours': () => totalTyped(columns, 'hour', days.start),
  'total-after': () => totalAfter(columns, [1, 3]),
  'fraction-digits': () => fractionDigits(AMOUNT, 3, 1),
  'total-periods': () => totalPeriods('before', { table: TABLE, columns }, 'day', [days, later]),
  'total-periods-of-hours': () => totalPeriods('after', { table: TABLE, columns }, 'hour', [days]),
  'record-restatements': () => recordRestatements(columns, new Set()) ?? '',
  'final-view': () => finalView(target),
  'final-view-of-hours': () => finalView(hourly),
};

describe('the generated statement', () => {
  test.each(Object.entries(statements))('%s reads as in its golden file', async (name, statement) => {
    await expect(`${statement()}\n`).toMatchFileSnapshot(`../golden/load/${name}.sql`);
  });

  test('compares the bare date column with literals, so that a deletion reads no other block', () => {
    expect(deleteDays(TABLE, 'day', days)).toContain(`where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'`);
    expect(sinceDay('day', days.start)).toBe(`"day" >= DATE '2026-01-05'`);
    expect(sinceDay('hour', days.start)).toBe(`"hour" >= TIMESTAMP '2026-01-05'`);
    expect(sinceDay(null, days.start)).toBe('true');
    expect(totalTyped(columns, null, days.start)).toContain(`DATE '2026-01-05' as p`);
  });

  test('of the digits of odd texts does not exist for a slice whose metrics are all floating point', () => {
    const ratios = { ...columns, metrics: columns.metrics.filter(({ type }) => type.kind === 'DOUBLE') };
    expect([ratios.metrics.length, oddDigits(ratios)]).toEqual([1, null]);
  });

  test('of undated rows does not exist for a slice without a date dimension', () => {
    expect(countUndated({ ...columns, dimensions: [QUOTED] })).toBeNull();
  });

  test('of restatements does not exist for a slice in which nothing adds up', () => {
    const none = { ...columns, metrics: columns.metrics.filter(({ additive }) => !additive) };
    expect([recordRestatements(none, new Set()), additiveOf(none)]).toEqual([null, []]);
  });
});
