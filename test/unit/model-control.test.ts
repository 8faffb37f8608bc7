import { expect, test } from 'vitest';

import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import { controlledDays } from '../../src/model/control.ts';
import { slice } from '../support/slice.ts';

const rolling = { first: { day: day('2026-01-01') }, last: { daysAgo: 1 } };
const cut = { first: { day: day('2026-05-27') }, last: { day: day('2026-06-03') } };

// Of a part of a week the service would state less than of the whole.
test.each([
  ['day', rolling, '2026-05-20', '2026-06-11'],
  ['week', rolling, '2026-05-18', '2026-06-11'],
  ['month', rolling, '2026-05-01', '2026-06-11'],
  ['day', cut, '2026-05-27', '2026-06-04'],
  ['week', cut, '2026-05-25', '2026-06-08'],
  ['month', cut, '2026-05-01', '2026-06-04'],
] as const)(
  'control totals by %s of the 20 days before 11 June are of whole buckets that are over: %j',
  (grain, datePeriod, start, end) => {
    const of = slice({ name: 'a', dimensions: [grain], metrics: [], datePeriod });
    const members = [{ slice: of, metrics: [], stored: [] }];
    const days = controlledDays(members, 20 * MS_PER_DAY, new Date('2026-06-11T02:30:00Z'));
    expect(days).toEqual({ start, end });
  },
);
