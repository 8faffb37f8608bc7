/** The settings of a slice, including its `date_period`, and of `defaults` for all slices. */

import * as z from 'zod';

import { parseDay, UTC, weekdayNames, weekdays, type WeekStart } from '../model/calendar.ts';
import { catalogTables } from '../model/catalog.ts';
import { columnTypeNames } from '../model/column-type.ts';
import { AGE_SLOT, agesIn } from '../model/cube.ts';
import { dateDimensions, isDateDimension } from '../model/dimension.ts';
import { longestAgesText } from '../model/metric-forms.ts';
import { EARLIEST_DAY, reversedAt } from '../model/period.ts';
import { MAX_STARRED } from '../model/stars.ts';
import { type DateBound, type DatePeriod, ownColumns, SLICE_NAME } from '../model/slice.ts';
import { block, suggestion } from './config-problems.ts';
import { reportShape } from './report-settings.ts';
import {
  columnType,
  duration,
  MAX_DAYS,
  serviceName,
  parsedText,
  wholeDays,
  wholeNumber,
} from './setting-kinds.ts';

const startOf = (bucket: 'week' | 'month', bucketsAgo = 0, daysBefore = 0): DateBound => ({
  startOf: bucket,
  bucketsAgo,
  daysBefore,
});

const today: DateBound = { daysAgo: 0 };
const yesterday: DateBound = { daysAgo: 1 };

const endWords = new Map([
  ['today', today],
  ['yesterday', yesterday],
  ['month_start', startOf('month')],
  ['week_start', startOf('week')],
]);

/** Words of the service (observed: date_period). Resolving cuts off days that have not begun. */
const periodWords = new Map<string, DatePeriod>([
  ['today', { first: today, last: today }],
  ['yesterday', { first: yesterday, last: yesterday }],
  ['this_week', { first: startOf('week'), last: today }],
  ['last_week', { first: startOf('week', 1), last: startOf('week', 0, 1) }],
  ['this_month', { first: startOf('month'), last: today }],
  ['last_month', { first: startOf('month', 1), last: startOf('month', 0, 1) }],
  ['this_month_until_yesterday', { first: startOf('month'), last: yesterday }],
]);

const A_PERIOD =
  `must be <start>:<end>, both inclusive, each an ISO date, ${[...endWords.keys()].join(', ')} or -Nd (0d is today); ` +
  `or one of ${[...periodWords.keys()].join(', ')}`;

const END = [...endWords.keys(), String.raw`\d{4}-\d{2}-\d{2}`, String.raw`-\d+d`, '0d'].join('|');

const datePeriod = z
  .string({ error: A_PERIOD })
  .meta({ pattern: `^((${END}):(${END})|${[...periodWords.keys()].join('|')})$` })
  .transform((value, context): DatePeriod => {
    const [first = null, last = null, ...more] = value.split(':').map(parseEnd);
    const ends = first === null || last === null || more.length > 0 ? null : { first, last };
    const parsed = periodWords.get(value) ?? ends;
    const message = parsed === null ? `is not a date period; ${A_PERIOD}` : periodProblem(parsed);
    const near =
      parsed !== null || value.includes(':') ? '' : suggestion(value, periodWords.keys());
    if (message !== null) context.addIssue({ code: 'custom', message: `${message}${near}` });
    return parsed ?? z.NEVER;
  });

function parseEnd(value: string): DateBound | null {
  const count = Number(/^(?:-|(?=0d$))(\d{1,5})d$/.exec(value)?.[1] ?? Infinity);
  if (count <= MAX_DAYS) return { daysAgo: count };
  const day = parseDay(value);
  return endWords.get(value) ?? (day === null ? null : { day });
}

/** Two years of days: every length of month, and every weekday in each. */
const sampleDays = Array.from({ length: 730 }, (_, at) => new Date(Date.UTC(2023, 0, 1 + at)));

function periodProblem(period: DatePeriod) {
  const { first, last } = period;
  if ('day' in first && first.day < EARLIEST_DAY) {
    return `begins on ${first.day}; must begin on ${EARLIEST_DAY} or later, best where your data does`;
  }
  // If only one end is a fixed date, the day decides whether the period is reversed.
  const dated = { datePeriod: period, utcOffset: UTC, weekStartsOn: 1 } as const;
  const isReversed =
    'day' in first === 'day' in last &&
    sampleDays.every((each) => reversedAt(dated, each) !== null);
  return isReversed ? `ends before it starts; ${A_PERIOD}` : null;
}

const takenNames = [
  // The catalog's changes stand beside those of slices, and would be dropped with one of its name.
  'catalog',
  'partners',
  'links',
  'partners_history',
  'links_history',
  ...catalogTables,
] as const;

const sliceName = z
  .string()
  .regex(SLICE_NAME, {
    error:
      'is not a slice name; must be a lower-case letter, then up to 62 lower-case letters, digits and _',
  })
  .refine(
    (name) =>
      !takenNames.some((reserved) => reserved === name) &&
      !name.startsWith('ripen') &&
      !name.endsWith('_final'),
    {
      error: `is a name ripen uses itself; must not be ${takenNames.join(', ')}, begin with ripen or end in _final`,
    },
  );

/** A name of the service that can be a column of the slice's table. Columns do not differ by letter case alone. */
const columnName = (noun: string) =>
  serviceName(noun).refine((name) => !ownColumns.some((column) => column === name.toLowerCase()), {
    error: `is a column ripen adds itself; must not be ${ownColumns.join(', ')}`,
  });

const isDateIgnoringCase = (name: string) => isDateDimension(name.toLowerCase());

/** Freshness is recorded by the date dimensions. One in another letter case would be taken for text. */
const dimensionName = columnName('dimension').refine(
  (name) => isDateDimension(name) || !isDateIgnoringCase(name),
  {
    error: `is a date dimension in other letters; must be written as ${dateDimensions.join(', ')}`,
  },
);

const metricName = columnName('metric').refine((name) => !isDateIgnoringCase(name), {
  error: 'is the name of a date dimension; must be a metric',
});

const COHORT_AGES = `must be an age such as d7, w4 or m3, a range such as d0..d120, or a list of them; ${longestAgesText}`;

const cohortAges = parsedText(
  agesIn,
  'is not an age of a cohort, or a range from a younger to an older one',
  COHORT_AGES,
);

/** A key of a cube. With an age in its slot, or after it if it has none, it is the service's name of a metric. */
const cohortName = serviceName('metric').refine((name) => name.split(AGE_SLOT).length <= 2, {
  error: `contains ${AGE_SLOT} twice; must contain it once, or not at all`,
});

const cohorts = z
  .record(
    cohortName,
    z
      .union([cohortAges, z.array(cohortAges).min(1)], { error: COHORT_AGES })
      .transform((lists) => lists.flat()),
  )
  .refine((keys) => Object.keys(keys).length > 0, {
    error: 'is empty; must hold at least one metric and its ages',
  });

const AGES =
  'must be nightly, milestones or an ascending list of ages in days, such as [1, 2, 7, 30]';

const ages = z
  .array(wholeNumber(1))
  .min(1)
  .refine((list) => list.every((age, index) => index === 0 || age > (list[index - 1] ?? 0)), {
    error: `is not ascending; ${AGES}`,
  });

const horizons = z
  .object({
    settle: duration
      .prefault('1h')
      .describe('How long a value may still change after its horizon.'),
    lifetime: duration
      .prefault('120d')
      .describe('How long values that never become final are refreshed.'),
  })
  .catchall(duration);

const sliceShape = {
  dimensions: z.array(dimensionName).min(1).describe("What to group by; the service's names."),
  metrics: z
    .array(metricName)
    .min(1)
    .optional()
    .describe(
      "What to measure; the service's names, `ripen catalog` lists them. * stands for those that match.",
    ),
  cohorts: cohorts
    .optional()
    .describe(
      'In place of metrics, for a table in long form: metrics by name, with {age} in it or at its end, and their ages.',
    ),
  max_metrics: wholeNumber(1)
    .default(MAX_STARRED)
    .describe('Maximum number of metrics of a slice that uses *.'),
  date_period: datePeriod.describe(
    '<start>:<end>, both inclusive; each an ISO date, today, yesterday, month_start, week_start or -Nd (0d is today). Or one word, ' +
      `such as last_month. It begins on ${EARLIEST_DAY} or later.`,
  ),
  week_starts_on: z
    .enum(weekdayNames)
    .default('monday')
    .transform((name): WeekStart => weekdays.find((weekday) => weekdayNames[weekday] === name) ?? 1)
    .describe(
      "First day of the service's weeks, for the dimension week and for week_start: monday to sunday.",
    ),
  ...reportShape,
  refresh: z
    .union([z.enum(['nightly', 'milestones']), ages], { error: AGES })
    .default('milestones')
    .describe('When a maturing period is fetched again: nightly, milestones, or at ages in days.'),
  horizons: horizons
    .prefault({})
    .describe(
      'How long after a period ends a metric may still change, by name or glob; the first match wins.',
    ),
  max_rejects: wholeNumber(0)
    .default(0)
    .describe('Rows of one window that may be rejected before the window fails.'),
  completeness: z
    .enum(['require', 'warn'])
    .default('require')
    .describe(
      'Whether a window that is not proven complete fails (require) or is loaded with a warning (warn).',
    ),
  retain: wholeDays
    .optional()
    .describe('How long loaded periods are kept, in whole days such as 400d (default: for ever).'),
  types: z
    .record(z.string(), columnType)
    .prefault({})
    .describe(`Column types by metric, in place of the catalog's: ${columnTypeNames}.`),
  additive: z
    .record(z.string(), z.boolean())
    .default({})
    .describe('By metric, whether its values add up over rows, if its name misleads.'),
} as const;

export const defaultsSettings = block(z.object(sliceShape).partial().shape);

export const sliceSettings = block({
  name: sliceName.describe("The slice's name, and its table's."),
  ...sliceShape,
});

export type SliceSettings = z.output<typeof sliceSettings>;
