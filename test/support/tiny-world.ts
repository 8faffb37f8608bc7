/**
 * The smallest world a report can be true of, written from the service's interface alone and from how its numbers move:
 * a pure function of options, parameters and an instant. It shares no code with what it is the truth for, not even the
 * calendar.
 *
 * A handful of apps and countries have a few atoms of traffic a day, each in one hour (UTC). Counts settle until 7 days
 * after a day ends, spend until 14, postbacks until 42, age N of a cohort at the start of day + N + 2, all in the offset
 * of the report; from then on a value never moves again.
 */

export interface TinyWorld {
  readonly seed: number;
  /** How many of the countries, in their order; `oddTexts` puts an empty text, quotes and look-alikes among them. */
  readonly countries: number;
  readonly oddTexts: boolean;
  /** How the country that nobody knows is stated: NULL, no key at all, or not at all as there is none. */
  readonly unknownCountry: 'null' | 'absent' | 'none';
  /** The weekday weeks begin with, as in `getUTCDay`, and from which instant (ms) on with the other one. */
  readonly weekStart: 0 | 1;
  readonly otherWeekFrom: number | null;
}

export type Parameters = Readonly<Record<string, string>>;
export type TinyCell = string | number | null;
export type TinyRow = Readonly<Record<string, TinyCell | Readonly<Record<string, string>>>>;

export interface TinyReport {
  readonly rows: readonly TinyRow[];
  readonly totals: Readonly<Record<string, number>>;
}

/** A question the service refuses with 400, in its own words. */
export class TinyRefusal extends Error {
  override readonly name = 'TinyRefusal';
}

export interface TinyMetric {
  readonly id: string;
  readonly formatting: string;
  readonly section: string;
  readonly list: string;
  /** Whole numbers, millionths of money, or a quotient of two others. */
  readonly kind: 'count' | 'money' | 'quotient';
  /** When the value of a day is final: so many days after the day ended. */
  readonly finalAfterDays: number;
  /** Age in days of a cohort; null for none. */
  readonly age: number | null;
  /** For a quotient. */
  readonly of?: readonly [string, string];
}

const SETTLED_DAYS = 7;
const SPEND_DAYS = 14;
const POSTBACK_DAYS = 42;

function count(id: string, finalAfterDays = SETTLED_DAYS, list = 'overview_metrics'): TinyMetric {
  return { id, formatting: 'integer', section: 'Conversion', list, kind: 'count', finalAfterDays, age: null };
}

function cohort(id: string, age: number, kind: 'count' | 'money'): TinyMetric {
  const formatting = kind === 'count' ? 'integer' : 'money';
  const rejected = kind === 'count' ? SETTLED_DAYS : 0;
  const finalAfterDays = Math.max(age + 1, rejected);
  return { id, formatting, section: 'Retention', list: 'cohort_metrics', kind, finalAfterDays, age };
}

function quotient(
  id: string,
  formatting: string,
  section: string,
  of: readonly [string, string],
  after: number,
): TinyMetric {
  return { id, formatting, section, list: 'overview_metrics', kind: 'quotient', finalAfterDays: after, age: null, of };
}

export const tinyMetrics: readonly TinyMetric[] = [
  count('installs'),
  count('clicks'),
  { ...count('cost', SPEND_DAYS), formatting: 'money', section: 'Cost', kind: 'money' },
  count('skad_installs', POSTBACK_DAYS, 'skad_metrics'),
  cohort('cohort_size_d7', 7, 'count'),
  cohort('all_revenue_total_d1', 1, 'money'),
  cohort('all_revenue_total_d7', 7, 'money'),
  cohort('all_revenue_total_d60', 60, 'money'),
  quotient('ecpi', 'money', 'Cost', ['cost', 'installs'], SPEND_DAYS),
  quotient('roas_d7', 'percent', 'Retention', ['all_revenue_total_d7', 'cost'], SPEND_DAYS),
  // Calculated, whatever their names say.
  quotient('revenue_to_cost', 'decimal', 'Revenue', ['all_revenue_total_d1', 'cost'], SPEND_DAYS),
  quotient('worth_of_an_install', 'money', 'Revenue', ['all_revenue_total_d1', 'installs'], SETTLED_DAYS),
  ...['period', 'row count', 'constructor', '__proto__', '_odd', 'window_no'].map((id) => count(id)),
];

const metricsById: ReadonlyMap<string, TinyMetric> = new Map(tinyMetrics.map((metric) => [metric.id, metric]));
const dateNames = ['hour', 'day', 'week', 'month', 'quarter', 'year'];
export const tinyTextDimensions: readonly string[] = ['app_token', 'country_code', 'os_name', 'sdk_version'];

const apps = ['appaaaaaaaaa', 'appbbbbbbbbb'] as const;
const systems = ['ios', 'android'] as const;
const plainCountries = ['de', 'us', 'br', 'jp'] as const;
const oddCountries = ['', "O'Neil", 'unknown', 'DE', 'München ☂', 'null', '=1+1'] as const;
/** The values that filters-data lists; as with a real service, not every value of the reports is among them. */
export const tinyValues = { apps, countries: plainCountries, os_names: systems } as const;
/** By currency, the price of a unit of account in eighths: exact in millionths after rounding. */
const eighths: ReadonlyMap<string, number> = new Map([
  ['USD', 8],
  ['EUR', 7],
  ['JPY', 1203],
]);

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MILLION = 1_000_000;

interface Atom {
  readonly startMs: number;
  readonly seed: number;
  readonly texts: ReadonlyMap<string, string | null>;
  readonly byImpression: boolean;
}

/** A whole number from a seed and whatever else, evenly spread below 2^32. */
export function hashed(...parts: readonly (number | string)[]): number {
  let hash = 0x811c9dc5;
  for (const character of parts.join('|')) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 13), 0x85ebca6b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** `YYYY-MM-DD` as days since 1970, and back. */
export const dayNumber = (text: string): number => Date.parse(`${text}T00:00:00Z`) / DAY_MS;
export const dayText = (number: number): string => new Date(number * DAY_MS).toISOString().slice(0, 10);

/** What `+HH:MM` adds to UTC, in ms. */
export function offsetMs(text: string): number {
  const size = (Number(text.slice(1, 3)) * 60 + Number(text.slice(4, 6))) * 60_000;
  return text.startsWith('-') ? -size : size;
}

function countriesOf({ countries, oddTexts, unknownCountry }: TinyWorld): (string | null)[] {
  const known = [...plainCountries.slice(0, countries), ...(oddTexts ? oddCountries : [])];
  return unknownCountry === 'none' ? known : [...known, null];
}

/** What a world's days were found to hold: the same for ever, and asked for again and again. */
const foundByWorld = new WeakMap<TinyWorld, Map<number, readonly Atom[]>>();

function atomsOn(world: TinyWorld, utcDay: number): readonly Atom[] {
  const found = foundByWorld.get(world) ?? new Map<number, readonly Atom[]>();
  foundByWorld.set(world, found);
  const atoms = found.get(utcDay) ?? makeAtoms(world, utcDay);
  found.set(utcDay, atoms);
  return atoms;
}

/** The traffic of a day (UTC): some places have none, some two atoms. */
function makeAtoms(world: TinyWorld, utcDay: number): Atom[] {
  const places = apps.flatMap((app) => countriesOf(world).map((country) => ({ app, country })));
  return places.flatMap(({ app, country }) => {
    const place = hashed(world.seed, utcDay, app, country ?? 'nobody knows');
    return Array.from({ length: [0, 1, 1, 2][place % 4] ?? 1 }, (_, nth): Atom => {
      const seed = hashed(place, nth);
      const system = systems[seed % 2] ?? 'ios';
      const texts = new Map<string, string | null>([
        ['app_token', app],
        ['country_code', country],
        ['os_name', system],
        ['sdk_version', `${system}${seed % 3}`],
      ]);
      const startMs = utcDay * DAY_MS + (hashed(seed, 'hour') % 24) * HOUR_MS;
      return { startMs, seed, texts, byImpression: hashed(seed, 'by') % 3 === 0 };
    });
  });
}

interface Query {
  readonly dimensions: readonly string[];
  readonly metrics: readonly TinyMetric[];
  /** Days since 1970, `[first, end)`, in the offset. */
  readonly first: number;
  readonly end: number;
  readonly offset: number;
  readonly weekStart: 0 | 1;
  readonly eighths: number;
  /** What money is counted in, of a unit of the currency. */
  readonly fractions: number;
  readonly attribution: string;
  /** Which cohorts metrics of an age tell of: all, those that reached it, or all of a group or none. */
  readonly maturity: string;
  readonly textTests: readonly ((texts: Atom['texts']) => boolean)[];
  readonly numberTests: readonly { readonly metric: TinyMetric; readonly accepts: (value: number | null) => boolean }[];
}

function metricNamed(id: string): TinyMetric {
  const metric = metricsById.get(id);
  if (metric === undefined) throw new TinyRefusal(`Unsupported metric: ${id}`);
  return metric;
}

/** As SQL has it: NULL passes no comparison. */
const textTests: ReadonlyMap<string, (value: string, wanted: string) => boolean> = new Map([
  ['in', (value, wanted) => wanted.split(',').includes(value)],
  ['not_in', (value, wanted) => !wanted.split(',').includes(value)],
  ['contains', (value, wanted) => value.toLowerCase().includes(wanted.toLowerCase())],
  ['exclude', (value, wanted) => !value.toLowerCase().includes(wanted.toLowerCase())],
  ['starts_with', (value, wanted) => value.toLowerCase().startsWith(wanted.toLowerCase())],
  ['not_starts_with', (value, wanted) => !value.toLowerCase().startsWith(wanted.toLowerCase())],
  ['ends_with', (value, wanted) => value.toLowerCase().endsWith(wanted.toLowerCase())],
  ['not_ends_with', (value, wanted) => !value.toLowerCase().endsWith(wanted.toLowerCase())],
]);

const numberTests: ReadonlyMap<string, (value: number, limit: number) => boolean> = new Map([
  ['lt', (value, limit) => value < limit],
  ['lte', (value, limit) => value <= limit],
  ['gt', (value, limit) => value > limit],
  ['gte', (value, limit) => value >= limit],
  ['eq', (value, limit) => value === limit],
  ['ne', (value, limit) => value !== limit],
]);

function understood(world: TinyWorld, parameters: Parameters, nowMs: number, isPrecise: boolean): Query {
  const listed = (name: string): string[] => (parameters[name] ?? '').split(',').filter((each) => each !== '');
  const dimensions = listed('dimensions');
  for (const name of dimensions) {
    if (![...dateNames, ...tinyTextDimensions].includes(name)) throw new TinyRefusal(`Unsupported dimension: ${name}`);
  }
  const metrics = listed('metrics').map((id) => metricNamed(id));
  const [, from, to] = /^(\d{4}-\d\d-\d\d):(\d{4}-\d\d-\d\d)$/.exec(parameters['date_period'] ?? '') ?? [];
  if (metrics.length === 0 || dimensions.length === 0 || from === undefined || to === undefined || to < from) {
    throw new TinyRefusal('field required');
  }
  const query = { textTests: [] as Query['textTests'][number][], numberTests: [] as Query['numberTests'][number][] };
  for (const [key, wanted] of Object.entries(parameters)) {
    const cut = key.lastIndexOf('__');
    const [name, suffix] = [key.slice(0, Math.max(0, cut)), key.slice(cut + 2)];
    const [ofText, ofNumber] = [textTests.get(suffix), numberTests.get(suffix)];
    if (cut > 0 && ofText !== undefined) {
      if (!tinyTextDimensions.includes(name)) throw new TinyRefusal(`Unsupported dimension: ${name}`);
      query.textTests.push((texts) => {
        const value = texts.get(name) ?? null;
        return value !== null && ofText(value, wanted);
      });
    } else if (cut > 0 && ofNumber !== undefined) {
      query.numberTests.push({
        metric: metricNamed(name),
        accepts: (value) => value !== null && ofNumber(value, Number(wanted)),
      });
    }
  }
  const rate = eighths.get(parameters['currency'] ?? 'USD');
  if (rate === undefined) throw new TinyRefusal('currency is not supported');
  const isOtherWeek = world.otherWeekFrom !== null && nowMs >= world.otherWeekFrom;
  return {
    ...query,
    dimensions,
    metrics,
    first: dayNumber(from),
    end: dayNumber(to) + 1,
    offset: offsetMs(parameters['utc_offset'] ?? '+00:00'),
    weekStart: isOtherWeek === (world.weekStart === 1) ? 0 : 1,
    eighths: rate,
    fractions: isPrecise ? MILLION * 1000 : MILLION,
    attribution: parameters['attribution_type'] ?? 'click',
    maturity: parameters['cohort_maturity'] ?? 'immature',
  };
}

/** What a metric that adds up says of an atom, in whole numbers or millionths, so long after its day ended. */
function measured({ id, kind, age, finalAfterDays }: TinyMetric, atom: Atom, sinceEndMs: number, rate: number): number {
  const size = hashed(atom.seed, id);
  const final = kind === 'count' ? size % 9 : Math.floor(((size % 90_000_000) * rate) / 8);
  if (sinceEndMs >= finalAfterDays * DAY_MS) return final;
  const step = Math.floor(sinceEndMs / DAY_MS);
  if (age !== null && step <= age) return Math.floor((final * Math.max(0, step + 2)) / (age + 4));
  // Restated: a little more or less, another value each day.
  const share = 900 + (hashed(atom.seed, id, step) % 200);
  return kind === 'count' ? final + (share % 3) : Math.floor((final * share) / 1000);
}

/** Some traffic is seen late, some is rejected again; a week after its day ended neither happens any more. */
function isSeen(atom: Atom, sinceEndMs: number, nowMs: number): boolean {
  const chance = hashed(atom.seed, 'seen') % 12;
  if (atom.startMs > nowMs) return false;
  if (chance === 0) return sinceEndMs >= 2 * DAY_MS;
  return chance !== 1 || sinceEndMs < 4 * DAY_MS;
}

interface Group {
  readonly labels: readonly (string | null)[];
  readonly seed: number;
  readonly sums: Map<string, number>;
  /** Metrics of which some cohorts are too young to be told. */
  readonly young: Set<string>;
}

function labelOf(dimension: string, localDay: number, localMs: number, weekStart: 0 | 1): string {
  const text = dayText(localDay);
  if (dimension === 'hour') return new Date(localMs).toISOString().slice(0, 19);
  if (dimension === 'day') return text;
  if (dimension === 'month') return text.slice(0, 7);
  if (dimension === 'year') return text.slice(0, 4);
  if (dimension === 'quarter') return `Q${Math.ceil(Number(text.slice(5, 7)) / 3)} ${text.slice(0, 4)}`;
  const start = localDay - ((new Date(localDay * DAY_MS).getUTCDay() - weekStart + 7) % 7);
  return `${dayText(start)} - ${dayText(start + 6)}`;
}

/** Whether a cohort is old enough for a metric to be told where only those are. */
export function isOfAge({ age }: TinyMetric, sinceEndMs: number): boolean {
  return age === null || sinceEndMs >= (age + 1) * DAY_MS;
}

function valueOf(metric: TinyMetric, sums: ReadonlyMap<string, number>, fractions: number): number | null {
  if (metric.of === undefined) return sums.get(metric.id) ?? 0;
  const [above, below] = metric.of.map((id) => inUnits(metricNamed(id), sums.get(id) ?? 0, fractions));
  return above === undefined || below === undefined || below === 0 ? null : above / below;
}

const inUnits = ({ kind }: TinyMetric, value: number, fractions: number): number =>
  kind === 'money' ? value / fractions : value;

/** Money has 2 to 6 digits, or up to 9; now and then a value is a JSON number, a count ends in `.0`, nothing is an empty text. */
function written(metric: TinyMetric, value: number | null, seed: number, fractions: number): TinyCell {
  const form = hashed(seed, metric.id) % 20;
  if (value === null) return form % 2 === 0 ? null : '';
  if (metric.kind === 'quotient') return form === 0 ? value : String(value);
  if (metric.kind === 'count') return form === 0 ? value : `${value}${form === 1 ? '.0' : ''}`;
  const all = String(value % fractions).padStart(String(fractions).length - 1, '0');
  const digits = all.slice(0, 2) + all.slice(2).replace(/0+$/, '');
  return `${Math.floor(value / fractions)}.${digits}`;
}

/**
 * The report of a world at an instant, without the days for which `isHidden`; `isPrecise` gives money three more digits.
 * Throws `TinyRefusal`.
 */
export function tinyReport(
  world: TinyWorld,
  parameters: Parameters,
  nowMs: number,
  { isHidden = () => false, isPrecise = false }: { isHidden?: (day: number) => boolean; isPrecise?: boolean } = {},
): TinyReport {
  const query = understood(world, parameters, nowMs, isPrecise);
  const { fractions } = query;
  const named = [...query.metrics, ...query.numberTests.map(({ metric }) => metric)];
  const basic = [...new Set(named.flatMap(({ id, of }) => of ?? [id]))].map((id) => metricNamed(id));
  const groups = new Map<string, Group>();
  for (let utcDay = query.first - 1; utcDay <= query.end; utcDay += 1) {
    for (const atom of atomsOn(world, utcDay)) {
      const localMs = atom.startMs + query.offset;
      const localDay = Math.floor(localMs / DAY_MS);
      const sinceEndMs = nowMs - ((localDay + 1) * DAY_MS - query.offset);
      if (localDay < query.first || localDay >= query.end || isHidden(localDay)) continue;
      if (query.attribution !== 'all' && atom.byImpression !== (query.attribution === 'impression')) continue;
      if (!isSeen(atom, sinceEndMs, nowMs) || !query.textTests.every((test) => test(atom.texts))) continue;
      const labels = query.dimensions.map((name) =>
        dateNames.includes(name) ? labelOf(name, localDay, localMs, query.weekStart) : (atom.texts.get(name) ?? null),
      );
      const key = JSON.stringify(labels);
      const group = groups.get(key) ?? { labels, seed: hashed(world.seed, key), sums: new Map(), young: new Set() };
      groups.set(key, group);
      for (const metric of basic) {
        if (query.maturity !== 'immature' && !isOfAge(metric, sinceEndMs)) {
          group.young.add(metric.id);
          continue;
        }
        const value = measured(metric, atom, sinceEndMs, query.eighths);
        const rest =
          isPrecise && metric.kind === 'money' ? value * 999 + (value === 0 ? 0 : hashed(atom.seed, 'rest') % 1000) : 0;
        group.sums.set(metric.id, (group.sums.get(metric.id) ?? 0) + value + rest);
      }
    }
  }
  for (const { sums, young } of groups.values()) {
    if (query.maturity === 'fully_mature') for (const id of young) sums.delete(id);
  }
  const passing = [...groups.values()].filter(({ sums }) =>
    query.numberTests.every(({ metric, accepts }) => {
      const value = valueOf(metric, sums, fractions);
      return accepts(value === null ? null : inUnits(metric, value, fractions));
    }),
  );
  const totals = new Map<string, number>();
  for (const { sums } of passing) for (const [id, sum] of sums) totals.set(id, (totals.get(id) ?? 0) + sum);
  return {
    rows: passing.map((group) => rowOf(group, query, world)),
    totals: Object.fromEntries(
      query.metrics.map((metric) => [metric.id, inUnits(metric, valueOf(metric, totals, fractions) ?? 0, fractions)]),
    ),
  };
}

function rowOf({ labels, seed, sums, young }: Group, query: Query, world: TinyWorld): TinyRow {
  const { dimensions, metrics, fractions } = query;
  const cells: [string, TinyRow[string]][] = [['attr_dependency', {}]];
  for (const [at, name] of dimensions.entries()) {
    const label = labels[at] ?? null;
    if (label !== null || world.unknownCountry !== 'absent') cells.push([name, label]);
  }
  for (const metric of metrics) {
    // What is withheld is stated as 0, as NULL or not at all.
    const isWithheld = (metric.of ?? [metric.id]).some((id) => young.has(id) && !sums.has(id));
    const value = isWithheld && (metric.of !== undefined || seed % 2 === 0) ? null : valueOf(metric, sums, fractions);
    cells.push([metric.id, written(metric, value, seed, fractions)]);
  }
  return Object.fromEntries(cells);
}
