/** A slice whose names would break careless SQL: quotes, blanks, key words. */

import type { Columns, Target } from '../../src/tables/target.ts';
import { day } from '../../src/model/calendar.ts';
import { BIGINT, DOUBLE, MONEY } from '../../src/model/column-type.ts';
import type { DateDimension } from '../../src/model/dimension.ts';
import { countMetric, slice } from './slice.ts';

export const TABLE = 'main."daily"';
export const QUOTED = 'app "quoted"';
export const COUNT = `o'brien said "hi"_events`;
export const AMOUNT = 'my event_revenue';
export const RATIO = 'value';
export const EXTRA = `new "key" isn't\\plain`;

export const columns: Columns = {
  dimensions: ['day', QUOTED, 'order'],
  metrics: [
    { id: COUNT, type: BIGINT, additive: true, isAssumed: false },
    { id: AMOUNT, type: MONEY, additive: true, isAssumed: true },
    { id: RATIO, type: DOUBLE, additive: false, isAssumed: true },
  ],
};
const grains: readonly (DateDimension | null)[] = ['hour', 'day', 'week', 'month', 'quarter', 'year'];
export const everyDate: Columns = { ...columns, dimensions: grains.flatMap((grain) => grain ?? []) };
export const days = { start: day('2026-01-05'), end: day('2026-01-08') };

export const target: Target = {
  slice: slice({ name: 'daily', dimensions: columns.dimensions, metrics: columns.metrics.map(({ id }) => id) }),
  fingerprint: 'f',
  metrics: [countMetric(COUNT, 7), countMetric(AMOUNT, 14), countMetric(RATIO, null)],
  state: 'live',
  table: TABLE,
  columns,
  catalog: [],
};
