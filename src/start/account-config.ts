/**
 * A first configuration of an account: short, commented, made of what filters-data lists.
 *
 * It requests the lists and nothing else; the token goes into no text.
 */

import type { Config } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { parseConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Catalog, catalogFilters, type CatalogFilter, type CatalogItem } from '../model/catalog.ts';
import { isMetricItem } from '../model/metric.ts';
import { MOST_STARRED, starsOf } from '../model/stars.ts';
import { withService } from '../run/circumstances.ts';
import { printable } from '../terminal/printable.ts';

/** The account, as who starts with it states it; what is absent is taken from the environment, or from the account. */
export interface AccountOptions {
  /** Holds `RIPEN_TOKEN`, and the addresses as `RIPEN_BASE_URL` and `RIPEN_REPORTS_URL`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly baseUrl?: string | undefined;
  readonly reportsUrl?: string | undefined;
  /** Tokens of the only apps to load; all without. */
  readonly apps?: readonly string[] | undefined;
  readonly currency?: string | undefined;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
}

/** The text of `ripen.yaml`. Throws `USAGE_INVALID` for what is missing or unknown to the account, and what the service refuses with. */
export async function accountConfigText(options: AccountOptions): Promise<string> {
  const { emit = () => {}, signal = new AbortController().signal } = options;
  const addresses = {
    base_url: stated(options.baseUrl ?? options.environment['RIPEN_BASE_URL'], '--base-url', 'RIPEN_BASE_URL'),
    reports_url: stated(
      options.reportsUrl ?? options.environment['RIPEN_REPORTS_URL'],
      '--reports-url',
      'RIPEN_REPORTS_URL',
    ),
  };
  stated(options.environment['RIPEN_TOKEN'], null, 'RIPEN_TOKEN');
  const items = await withService(configOf(addresses, options), new Date(), emit, async (service) =>
    service.filtersData({ filters: catalogFilters }, signal),
  );
  return textOf(items, addresses, options);
}

function stated(value: string | undefined, option: string | null, variable: string): string {
  if (value !== undefined && value !== '') return value;
  const where = option === null ? variable : `${option} or ${variable}`;
  throw new Failure('USAGE_INVALID', `The account could not be asked, as ${where} was not stated.`, {
    hint:
      option === null
        ? `Set ${variable} in the environment.`
        : `Give ${option}, or set ${variable} in the environment.`,
  });
}

type Addresses = Readonly<Record<'base_url' | 'reports_url', string>>;

const configOf = (addresses: Addresses, { environment }: AccountOptions): Config =>
  parseConfig(JSON.stringify({ service: { ...escaped(addresses), token: '${RIPEN_TOKEN}' } }), {
    file: 'the stated account',
    directory: '.',
    environment,
  });

/** As a configuration writes a `$` that begins no variable. */
const escaped = (addresses: Addresses): Addresses => ({
  base_url: addresses.base_url.replaceAll('$', '$$$$'),
  reports_url: addresses.reports_url.replaceAll('$', '$$$$'),
});

/** Metrics most studios look at; those that the account lists are taken. */
const usualMetrics = ['installs', 'clicks', 'impressions', 'sessions', 'cost', 'network_cost'] as const;
/** Cohort metrics, the first listed of each line. */
const usualCohorts = [
  ['all_revenue_total', 'revenue_total', 'revenue'],
  ['cohort_size'],
  ['retained_users', 'retention_rate'],
  ['roas'],
] as const;
/** Ages that are looked at; those that the account lists are taken. */
const usualAges = [0, 1, 3, 7, 14, 30, 90] as const;
/** Patterns of event metrics, from the widest. */
const eventStars = ['*_events', '*_revenue'] as const;

/** What links can be crawled by. */
const APP_TOKEN = /^(?:[A-Za-z0-9]{12}|[A-Za-z0-9]{10})$/;

/** More names, or longer ones, make a comment longer, not clearer. */
const MOST_NAMES = 3;
const MOST_LETTERS = 30;

function textOf(items: Catalog, addresses: Addresses, options: AccountOptions): string {
  const idsOf = (filter: CatalogFilter): string[] => items.filter((item) => item.filter === filter).map(({ id }) => id);
  const metrics = new Set(items.filter(isMetricItem).map(({ id }) => id));
  const apps = chosenApps(items, options);
  const { currency, because } = chosenCurrency(apps, idsOf('currencies'), options);
  const zone = zoneOf(apps);
  const usual = usualMetrics.filter((id) => metrics.has(id));
  const base = usual.length > 0 ? usual : [[...metrics].toSorted()[0] ?? 'installs'];
  const cohorts = cohortsOf(metrics);
  const events = eventsOf(idsOf('event_metrics'), metrics);
  // Such as those of an event of two words.
  const isOdd = events.star !== null && events.metrics.some((name) => /[\s,;{}()=]/.test(name));
  const known = new Set(idsOf('dimensions'));
  const dimensions = (...names: string[]): string =>
    listText(names.filter((name) => known.size === 0 || name === 'day' || name === 'hour' || known.has(name)));
  const isChosen = options.apps !== undefined && options.apps.length > 0;
  const tokens = listText(apps.map(({ id }) => id));
  const lines = [
    '# yaml-language-server: $schema=./ripen.schema.json',
    '#',
    `# Written from what the account listed: ${counted(apps.length, 'app')} (${named(apps.map(({ name, id }) => name || id))}),`,
    `# ${counted(metrics.size, 'metric')}, of which ${idsOf('event_metrics').length} of events. \`ripen check --resolved\` prints what it stands for.`,
    '# Next: `npx ripen check`, `npx ripen plan`, `npx ripen sync`.',
    '',
    'service:',
    `  base_url: ${quoted(escaped(addresses).base_url)} # partners and links`,
    `  reports_url: ${quoted(escaped(addresses).reports_url)} # reports and filters-data`,
    '  token: ${RIPEN_TOKEN} # from the environment, never written here',
    '',
    'x-metrics:',
    `  base: &base ${listText(base)}`,
    ...(cohorts.length > 0 ? [`  cohorts: &cohorts ${listText(cohorts)} # ages that the account lists`] : []),
    ...(events.star === null
      ? []
      : [
          `  events: &events ["${events.star}"] # ${counted(events.metrics.length, 'metric')} today: ${named(events.metrics)}`,
        ]),
    '',
    "warehouse: data/warehouse.duckdb # ripen's own file; readers get the copies below",
    'publish:',
    '  - duckdb: analytics/analytics.duckdb # one file, replaced atomically',
    ...(isOdd ? [] : ['  - delta: analytics/tables # Delta tables, or s3://bucket/prefix']),
    'partners: true',
    `links: { apps: ${isChosen && apps.every(({ id }) => APP_TOKEN.test(id)) ? tokens : 'all'}, max_level: 4 }`,
    '',
    'defaults: # for every slice that does not state its own',
    `  utc_offset: ${quoted(zone.offset)} # ${zone.because}`,
    `  currency: ${quoted(currency)} # ${because}`,
    '  attribution_type: all',
    '  reattributed: all # leaving it out doubles some reports against the dashboard',
    `  metrics: [*base${cohorts.length > 0 ? ', *cohorts' : ''}]`,
    '  date_period: -60d:yesterday # begin earlier to load more',
    ...(isChosen ? [`  filters: { app_token__in: ${tokens} }`] : []),
    '',
    'slices:',
    '  - name: network_daily',
    `    dimensions: ${dimensions('day', 'app_token', 'app', 'partner_name', 'network', 'os_name', 'country_code')}`,
    ...(events.star === null ? [] : [`    metrics: [*base${cohorts.length > 0 ? ', *cohorts' : ''}, *events]`]),
    '  - name: campaign_daily',
    `    dimensions: ${dimensions('day', 'app_token', 'app', 'network', 'campaign')}`,
    '  - name: app_hourly',
    `    dimensions: ${dimensions('hour', 'app_token', 'app', 'os_name')}`,
    '    metrics: *base # few, as it has many rows',
    '    date_period: -14d:yesterday',
    '',
    '# Left out:',
    ...leftOut(events, metrics, cohorts).map((line) => `# - ${line}`),
    ...(isOdd ? ['# - Delta tables, as some engines cannot read columns with blanks in their names'] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** The apps that were chosen, in the account's order; all without a choice. */
function chosenApps(items: Catalog, { apps: wanted }: AccountOptions): readonly CatalogItem[] {
  const apps = items.filter(({ filter }) => filter === 'apps');
  if (wanted === undefined || wanted.length === 0) return apps;
  const ids = apps.map(({ id }) => id);
  const unknown = wanted.find((token) => !ids.includes(token));
  if (unknown !== undefined) throw unlisted('app', unknown, ids);
  return apps.filter(({ id }) => wanted.includes(id));
}

function unlisted(noun: string, name: string, listed: readonly string[]): Failure {
  const near = nearest(name, listed);
  return new Failure('USAGE_INVALID', `filters-data listed no ${noun} ${name}.`, {
    hint: near === null ? `Give one of ${named(listed)}.` : `Did you mean ${near}?`,
  });
}

/** What an app says of itself beside its name. */
function attributesOf({ attributes }: CatalogItem): [name: string, value: string][] {
  const stated: unknown = JSON.parse(attributes ?? '{}');
  return Object.entries(typeof stated === 'object' && stated !== null ? stated : {}).flatMap(
    ([name, value]: [string, unknown]): [string, string][] => (typeof value === 'string' ? [[name, value]] : []),
  );
}

/** The values that apps state under some names, the most frequent first. */
function frequent(apps: readonly CatalogItem[], isWanted: RegExp, isValid: RegExp): [value: string, count: number][] {
  const counts = new Map<string, number>();
  for (const [name, value] of apps.flatMap(attributesOf)) {
    if (isWanted.test(name) && isValid.test(value)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one);
}

function chosenCurrency(apps: readonly CatalogItem[], listed: readonly string[], { currency }: AccountOptions) {
  if (currency !== undefined) {
    if (listed.length > 0 && !listed.includes(currency)) throw unlisted('currency', currency, listed);
    return { currency, because: 'as chosen; money is converted to it' };
  }
  const [most, ...others] = frequent(apps, /^currency$/, /^[A-Z]{3}$/);
  if (most === undefined) return { currency: 'USD', because: 'no app states one; money is converted to it' };
  const [code, count] = most;
  const rest = others.length === 0 ? '' : `, others have ${named(others.map(([other]) => other))}`;
  return { currency: code, because: `of ${count} of ${counted(apps.length, 'app')}${rest}; money is converted to it` };
}

const OFFSET = /^[+-]\d{2}:[0-5]\d$/;

/** The offset that most apps state; one that knows no summer time. */
function zoneOf(apps: readonly CatalogItem[]): { readonly offset: string; readonly because: string } {
  const [most] = frequent(apps, /utc_?offset|time_?zone/i, OFFSET);
  const offset = most?.[0];
  return offset === undefined
    ? { offset: '+00:00', because: "filters-data states no time zone: set your dashboard's; there is no summer time" }
    : { offset, because: 'as the apps state it; there is no summer time' };
}

/** The usual cohort metrics with the usual ages that are listed, in braces; those of the same ages together. */
function cohortsOf(metrics: ReadonlySet<string>): string[] {
  const byAges = new Map<string, string[]>();
  for (const names of usualCohorts) {
    const name = names.find((each) => usualAges.some((age) => metrics.has(`${each}_d${age}`)));
    if (name === undefined) continue;
    const ages = inBraces(usualAges.filter((age) => metrics.has(`${name}_d${age}`)).map(String));
    byAges.set(ages, [...(byAges.get(ages) ?? []), name]);
  }
  return [...byAges].map(([ages, names]) => `${inBraces(names)}_d${ages}`);
}

const inBraces = (texts: readonly string[]): string => (texts.length === 1 ? texts.join('') : `{${texts.join(',')}}`);

interface Events {
  readonly listed: readonly string[];
  /** The widest pattern that stands for some events, and not for too many; null for none. */
  readonly star: string | null;
  /** What it stands for. */
  readonly metrics: readonly string[];
}

/** Room for the metrics that a slice has beside its events. */
const MOST_EVENTS = MOST_STARRED - 50;

function eventsOf(listed: readonly string[], metrics: ReadonlySet<string>): Events {
  const matched = starsOf({ metrics: eventStars, dimensions: [...usualMetrics] }, metrics);
  const fitting = matched.find(({ metrics: names }) => names.length > 0 && names.length <= MOST_EVENTS);
  const isOfEvents = fitting?.metrics.some((name) => listed.includes(name)) === true;
  if (fitting === undefined || !isOfEvents) return { listed, star: null, metrics: [] };
  return { listed, star: fitting.pattern, metrics: fitting.metrics };
}

function leftOut({ listed, star }: Events, metrics: ReadonlySet<string>, cohorts: readonly string[]): string[] {
  const tooMany = `event metrics, ${listed.length} of them (${named(listed)}): more than a slice may have (${MOST_STARRED});`;
  return [
    ...(star === null && listed.length > 0
      ? [tooMany, '  add those you use to a slice, such as "purchase_*"; `ripen catalog WORD` searches']
      : []),
    ...(star === null || listed.length === 0
      ? []
      : ['event metrics by cohort age, and other forms: `ripen catalog --section events` lists them']),
    ...(cohorts.length > 0 ? ['weekly and monthly cohorts, and other ages: they would make each row longer'] : []),
    `the other metrics of ${metrics.size}, and slices by ad group and creative: every slice is a table of its own`,
  ];
}

/** Some names for a comment: on one line, few, short. */
function named(names: readonly string[]): string {
  const shown = names
    .slice(0, MOST_NAMES)
    .map((name) => printable(name).replaceAll(/\s+/g, ' ').slice(0, MOST_LETTERS));
  return names.length > MOST_NAMES ? `${shown.join(', ')} and ${names.length - MOST_NAMES} more` : shown.join(', ');
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** A text of the file: plain where it cannot be read otherwise. */
const quoted = (text: string): string => JSON.stringify(text);

const listText = (names: readonly string[]): string =>
  `[${names.map((name) => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name))).join(', ')}]`;
