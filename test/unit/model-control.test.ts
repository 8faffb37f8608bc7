import { expect, test } from 'vitest';

import { day, MS_PER_DAY } from '../../src/model/calendar.ts';
import { controlledDays } from '../../src/model/control.ts';
import { slice } from '../support/slice.ts';

test.each([
  ['day', '2026-05-20'],
  // Of a part of a week the service would state less than of the whole.
  ['week', '2026-05-18'],
  ['month', '2026-05-01'],
] as const)(
  'control totals by %s of the 20 days before 11 June begin at %s, with a whole bucket',
  (grain, start) => {
    const of = slice({
      name: 'a',
      dimensions: [grain],
      metrics: [],
      datePeriod: { first: { day: day('2026-01-01') }, last: { daysAgo: 1 } },
    });
    const members = [{ slice: of, metrics: [], stored: [] }];
    const days = controlledDays(members, 20 * MS_PER_DAY, new Date('2026-06-11T02:30:00Z'));
    expect(days).toEqual({ start, end: '2026-06-11' });
  },
);
