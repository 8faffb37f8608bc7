/** What a fuzzed sequence is made of: a world, a slice, and nights with pauses, changed minds and moods. */

import * as fc from 'fast-check';

import { calm, type Mood } from '../support/tiny-service.ts';
import { dayNumber, dayText, type Parameters, type TinyWorld } from '../support/tiny-world.ts';

export const grains = ['hour', 'day', 'week', 'month', 'quarter', 'year', 'none'] as const;

/** A slice as somebody configures it; days are counted from the first night's. */
export interface SliceChoice {
  readonly name: string;
  readonly grain: (typeof grains)[number];
  /** Beside the date; not empty where there is none. */
  readonly texts: readonly string[];
  readonly metrics: readonly string[];
  readonly offset: string;
  readonly currency: string | null;
  readonly attribution: 'all' | 'click';
  readonly maturity: 'immature' | 'mature' | 'fully_mature';
  readonly firstDay: { readonly daysBefore: number; readonly rolls: boolean };
  readonly lastDay: 'yesterday' | 'today' | { readonly daysBefore: number };
  readonly refresh: 'milestones' | 'nightly' | readonly number[];
  readonly filters: Readonly<Record<string, string | readonly string[] | number>>;
  readonly types: Readonly<Record<string, string>>;
  readonly maxRejects: number;
  /** Days; null keeps for ever. */
  readonly retainDays: number | null;
}

/** One change of the configuration, made before a night. */
export type Change = Partial<Omit<SliceChoice, 'name'>> & {
  /** Added when it is missing, removed when it is there and not the last. */
  readonly toggled?: { readonly list: 'texts' | 'metrics'; readonly name: string };
};

export interface Night {
  /** Since the night before; negative plans for an instant before it. */
  readonly pauseHours: number;
  readonly change: Change | null;
  readonly mood: Mood;
  /** What of the slice is dropped before the run: all, or the periods that ended so many days before the night's. */
  readonly drop: 'all' | { readonly daysBefore: number } | null;
  /** Whether the slice has its other name from now on: it is another one then, and the first is left as it is. */
  readonly isRenamed: boolean;
  /** Whether the second slice is not configured. */
  readonly isBesideOut: boolean;
  readonly run: NightRun;
}

/** How a night is run. */
export interface NightRun {
  /**
   * In place of a sync, a `replay` of the archive where one is kept, or a `backfill` of days, the first of which is so many
   * before the night's.
   */
  readonly again: 'archive' | { readonly daysBefore: number; readonly days: number } | null;
  /** A signal stops the run when it has told so much. */
  readonly stopsAt: number | null;
  readonly acceptLoss: boolean;
}

/** A sync that nobody stops. */
export const plainRun: NightRun = { again: null, stopsAt: null, acceptLoss: false };

export interface Sequence {
  readonly world: Omit<TinyWorld, 'otherWeekFrom'> & { readonly otherWeekAfterDays: number | null };
  readonly start: string;
  readonly slice: SliceChoice;
  /** A second slice in the same configuration, which nobody changes, but which may be left out for some nights. */
  readonly beside: SliceChoice | null;
  readonly nights: readonly Night[];
  /** Whether each night asks for a window of final cells again. */
  readonly audits: boolean;
  /** Whether answers are kept, and in the end loaded again. */
  readonly archives: boolean;
  /** The kinds of copies each night is published to. */
  readonly publishes: readonly CopyKind[];
}

const copies = ['duckdb', 'delta', 'parquet'] as const;
export type CopyKind = (typeof copies)[number];

/** The settings of a slice, as its configuration states them. */
export function settingsOf(slice: SliceChoice, start: string): Readonly<Record<string, unknown>> {
  const first = dayNumber(start.slice(0, 10));
  const { firstDay, lastDay, retainDays } = slice;
  const from = firstDay.rolls ? `-${firstDay.daysBefore}d` : dayText(first - firstDay.daysBefore);
  const to = typeof lastDay === 'string' ? lastDay : dayText(first - Math.min(lastDay.daysBefore, firstDay.daysBefore));
  return {
    name: slice.name,
    dimensions: dimensionsOf(slice),
    metrics: slice.metrics,
    date_period: `${from}:${to}`,
    utc_offset: slice.offset,
    ...(slice.currency === null ? {} : { currency: slice.currency }),
    attribution_type: slice.attribution,
    cohort_maturity: slice.maturity,
    refresh: slice.refresh,
    max_rejects: slice.maxRejects,
    filters: slice.filters,
    types: Object.fromEntries(Object.entries(slice.types).filter(([metric]) => slice.metrics.includes(metric))),
    horizons: Object.fromEntries(
      statedHorizons
        .filter(([metric]) => slice.metrics.includes(metric))
        .map(([metric, days]) => [metric.replace('__proto__', '__prot?__'), days]),
    ),
    ...(retainDays === null ? {} : { retain: `${retainDays}d` }),
  };
}

export function dimensionsOf({ grain, texts }: SliceChoice): readonly string[] {
  return grain === 'none' ? texts : [grain, ...texts];
}

/** The days a slice's date period covers on the civil day of a night, `[first, end)`. */
export function coveredOn(slice: SliceChoice, start: string, today: number): { first: number; end: number } {
  const base = dayNumber(start.slice(0, 10));
  const { firstDay, lastDay } = slice;
  const first = (firstDay.rolls ? today : base) - firstDay.daysBefore;
  if (typeof lastDay === 'string') return { first, end: lastDay === 'today' ? today + 1 : today };
  return { first, end: base - Math.min(lastDay.daysBefore, firstDay.daysBefore) + 1 };
}

/** What gives a slice's rows their meaning, as parameters of the report; without metrics and dates. */
export function meaningOf(slice: SliceChoice): Parameters {
  const filters = Object.entries(slice.filters).map(([key, value]): [string, string] => [key, String(value)]);
  return {
    dimensions: dimensionsOf(slice).join(','),
    utc_offset: slice.offset,
    attribution_type: slice.attribution,
    cohort_maturity: slice.maturity,
    ...(slice.currency === null ? {} : { currency: slice.currency }),
    ...Object.fromEntries(filters),
  };
}

export function changedSlice(slice: SliceChoice, change: Change | null): SliceChoice {
  if (change === null) return slice;
  const { toggled, ...stated } = change;
  const changed = dated({ ...slice, ...stated });
  if (toggled === undefined) return changed;
  const list = changed[toggled.list];
  const others = list.filter((name) => name !== toggled.name);
  const isLast = others.length === 0 && (toggled.list === 'metrics' || changed.grain === 'none');
  if (others.length === list.length) return { ...changed, [toggled.list]: [...list, toggled.name] };
  return isLast ? changed : { ...changed, [toggled.list]: others };
}

/** Without a date there is another dimension; years by the hour would take minutes. */
function dated(slice: SliceChoice): SliceChoice {
  const { grain, texts, firstDay } = slice;
  if (grain === 'none' && texts.length === 0) return { ...slice, texts: ['app_token'] };
  return grain === 'hour' && firstDay.daysBefore > MOST_DAYS_BY_HOUR ? { ...slice, grain: 'day' } : slice;
}

const MOST_DAYS_BY_HOUR = 80;

const usualMetrics = ['installs', 'cost', 'ecpi', 'all_revenue_total_d7', 'cohort_size_d7', 'skad_installs'] as const;
const rareMetrics = ['clicks', 'all_revenue_total_d1', 'all_revenue_total_d60', 'roas_d7', 'revenue_to_cost'] as const;
const oddMetrics = [
  'worth_of_an_install',
  'period',
  'row count',
  'constructor',
  '__proto__',
  '_odd',
  'window_no',
] as const;
/** No documented form says when these stop changing; `revenue_to_cost` rests on another cohort here than the service's does. */
const statedHorizons: readonly (readonly [metric: string, days: string])[] = [
  ['revenue_to_cost', '14d'],
  ...oddMetrics.map((id) => [id, '7d'] as const),
];
const texts = ['app_token', 'country_code', 'os_name'] as const;
const metric = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...usualMetrics) },
  { weight: 3, arbitrary: fc.constantFrom(...rareMetrics) },
  { weight: 1, arbitrary: fc.constantFrom(...oddMetrics) },
);

/** Mostly the first, which shrinking returns to. */
function mostly<T>(usual: T, other: fc.Arbitrary<T>, weight = 5): fc.Arbitrary<T> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: other },
  );
}

const days = (every: number): fc.Arbitrary<{ every: number; from: number }> =>
  fc.record({ every: fc.integer({ min: 1, max: every }), from: fc.nat(every - 1) });

const mood: fc.Arbitrary<Mood> = mostly<Mood>(
  calm,
  fc.record({
    totals: mostly<Mood['totals']>('exact', fc.constantFrom('rounded', 'missing', 'some missing', 'as text'), 2),
    empty: mostly<Mood['empty']>(
      null,
      fc
        .tuple(days(4), fc.constantFrom('204', 'no rows', 'no totals'))
        .map(([some, as]) => Object.assign(some, { as })),
      2,
    ),
    failing: mostly<Mood['failing']>(
      null,
      fc
        .tuple(days(9), fc.constantFrom<NonNullable<Mood['failing']>['with'][]>(503, 400, 403, 'beside'))
        .map(([some, status]) => Object.assign(some, { with: status })),
      3,
    ),
    slow: mostly<Mood['slow']>(null, days(9), 4),
    maxRows: mostly<Mood['maxRows']>(null, fc.integer({ min: 30, max: 200 }), 4),
    cap: mostly<Mood['cap']>(
      null,
      fc.record({ rows: fc.integer({ min: 3, max: 60 }), totals: fc.constant('all'), warns: fc.boolean() }),
      4,
    ),
    pages: mostly<Mood['pages']>(
      null,
      fc.record({
        size: fc.integer({ min: 5, max: 100 }),
        style: fc.constantFrom('v1', 'v2', 'cursor'),
        lastHasNext: fc.boolean(),
      }),
      6,
    ),
    unasked: mostly<number>(0, fc.constantFrom(1, 60), 4),
    odd: mostly<Mood['odd']>(
      null,
      fc.record({ every: fc.constantFrom(10, 80), text: fc.constantFrom('NaN', '1,234.5', 'n/a') }),
      6,
    ),
    precise: mostly<boolean>(false, fc.constant(true), 4),
    catalog: mostly<Mood['catalog']>(
      'usual',
      fc.constantFrom('a list empty', 'a list absent', 'shorter', 'reformatted', 'moved'),
      2,
    ),
  }),
  1,
);

const firstDay = fc.record({ daysBefore: fc.integer({ min: 1, max: 40 }), rolls: fc.boolean() });
const lastDay = mostly<SliceChoice['lastDay']>(
  'yesterday',
  fc.oneof(fc.constant('today'), fc.record({ daysBefore: fc.integer({ min: 0, max: 20 }) })),
);
const filters = mostly<SliceChoice['filters']>(
  {},
  fc.constantFrom<SliceChoice['filters']>(
    { country_code__in: ['de', 'us'] },
    { country_code__not_in: ['de'] },
    { os_name__contains: 'io' },
    { installs__gte: 5 },
    { country_code__in: ['nowhere'] },
  ),
);
const types = mostly<SliceChoice['types']>(
  {},
  fc.constantFrom<SliceChoice['types']>({ cost: 'DOUBLE' }, { installs: 'DECIMAL(18,2)' }),
);
const refresh = mostly<SliceChoice['refresh']>(
  'milestones',
  fc.constantFrom<SliceChoice['refresh']>('nightly', [1, 7], [2, 30]),
  3,
);
const maturity = mostly<SliceChoice['maturity']>('immature', fc.constantFrom('mature', 'fully_mature'), 3);
const offset = mostly<string>('+00:00', fc.constantFrom('+05:30', '-04:00', '+14:00'), 2);
const currency = mostly<SliceChoice['currency']>(null, fc.constantFrom('USD', 'EUR', 'JPY'), 3);

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ toggled: fc.record({ list: fc.constant('metrics'), name: metric }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ toggled: fc.record({ list: fc.constant('texts'), name: fc.constantFrom(...texts) }) }),
  },
  { weight: 2, arbitrary: fc.record({ firstDay }) },
  fc.record({ lastDay }),
  fc.record({ currency }),
  fc.record({ maturity }),
  fc.record({ filters }),
  fc.record({ types }),
  fc.record({ refresh }),
  fc.record({ attribution: fc.constantFrom('all', 'click') }),
  fc.record({ grain: fc.constantFrom(...grains) }),
  fc.record({ offset }),
  fc.record({ retainDays: fc.constantFrom(20, 60, null) }),
);

const run: fc.Arbitrary<NightRun> = mostly<NightRun>(
  plainRun,
  fc.record({
    again: mostly<NightRun['again']>(
      null,
      fc.oneof(
        {
          weight: 3,
          arbitrary: fc.record({ daysBefore: fc.integer({ min: 0, max: 60 }), days: fc.integer({ min: 1, max: 20 }) }),
        },
        { weight: 1, arbitrary: fc.constant('archive' as const) },
      ),
      1,
    ),
    stopsAt: mostly<NightRun['stopsAt']>(null, fc.integer({ min: 1, max: 30 }), 1),
    acceptLoss: fc.boolean(),
  }),
  4,
);

const night: fc.Arbitrary<Night> = fc.record({
  pauseHours: fc.oneof(
    { weight: 8, arbitrary: fc.constant(24) },
    { weight: 4, arbitrary: fc.constantFrom(24 * 3, 24 * 8, 24 * 16) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1, 5, 24 * 45, -30) },
  ),
  change: mostly<Night['change']>(null, change, 2),
  mood,
  drop: mostly<Night['drop']>(
    null,
    fc.oneof(fc.constant('all' as const), fc.record({ daysBefore: fc.integer({ min: 0, max: 60 }) })),
    14,
  ),
  isRenamed: mostly<boolean>(false, fc.constant(true), 14),
  isBesideOut: mostly<boolean>(false, fc.constant(true), 4),
  run,
});

/** Grains whose periods are long have date periods that hold some. */
function stretched(slice: SliceChoice): SliceChoice {
  const factor = { hour: 1, day: 1, week: 2, month: 3, quarter: 8, year: 12, none: 1 }[slice.grain];
  const { daysBefore, rolls } = slice.firstDay;
  return dated({ ...slice, firstDay: { daysBefore: daysBefore * factor, rolls } });
}

const sliceNamed = (name: fc.Arbitrary<string>): fc.Arbitrary<SliceChoice> =>
  fc
    .record({
      name,
      grain: fc.oneof(
        { weight: 6, arbitrary: fc.constant('day' as const) },
        { weight: 5, arbitrary: fc.constantFrom(...grains) },
      ),
      texts: fc.uniqueArray(fc.constantFrom(...texts), { maxLength: 2 }),
      metrics: fc.uniqueArray(metric, { minLength: 1, maxLength: 4 }),
      offset,
      currency,
      attribution: fc.constant('all' as const),
      maturity,
      firstDay,
      lastDay,
      refresh,
      filters,
      types,
      maxRejects: mostly<number>(0, fc.constant(1000), 2),
      retainDays: mostly<number | null>(null, fc.constantFrom(20, 60), 9),
    })
    .map((slice): SliceChoice => stretched(slice));

export const sequences: fc.Arbitrary<Sequence> = fc.record({
  world: fc.record({
    seed: fc.nat(999),
    countries: fc.integer({ min: 1, max: 4 }),
    oddTexts: mostly<boolean>(false, fc.constant(true), 3),
    unknownCountry: mostly<TinyWorld['unknownCountry']>('none', fc.constantFrom('null', 'absent'), 3),
    weekStart: fc.constantFrom<(0 | 1)[]>(1, 0),
    otherWeekAfterDays: mostly<number | null>(null, fc.integer({ min: 1, max: 20 }), 6),
  }),
  start: fc
    .tuple(fc.constantFrom('2025-11-05', '2025-12-30', '2026-03-02'), fc.constantFrom('T03:00:00Z', 'T22:40:00Z'))
    .map(([day, time]) => `${day}${time}`),
  slice: sliceNamed(mostly('facts', fc.constantFrom('period', 'windows', 'typed', 'installs', 'staged'))),
  beside: mostly<Sequence['beside']>(null, sliceNamed(fc.constant('beside')), 4),
  nights: fc.array(night, { minLength: 1, maxLength: 7 }),
  audits: mostly<boolean>(false, fc.constant(true), 3),
  archives: mostly<boolean>(false, fc.constant(true), 2),
  publishes: mostly<Sequence['publishes']>([], fc.subarray([...copies], { minLength: 1, maxLength: 2 }), 2),
});

/** The instants of a sequence's nights, in ms. */
export function instantsOf({ start, nights }: Sequence): number[] {
  let at = Date.parse(start);
  return nights.map(({ pauseHours }, index) => (at += index === 0 ? 0 : pauseHours * 3_600_000));
}
