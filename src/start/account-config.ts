/**
 * A first configuration of an account: short, commented, made of what filters-data lists.
 *
 * It requests the lists and nothing else; the token goes into no text.
 */

import * as z from 'zod';

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
  const { environment, emit = () => {}, signal = new AbortController().signal } = options;
  const stated = (name: string, variable: string, value = environment[variable] ?? ''): string => {
    if (value !== '') return value;
    throw new Failure('USAGE_INVALID', `The account could not be asked, as ${name} was not stated.`, {
      hint: name === variable ? `Set ${name} in the environment.` : `Give it, or set ${variable} in the environment.`,
    });
  };
  // As a configuration writes a `$` that begins no variable.
  const escaped = (address: string): string => address.replaceAll('$', '$$$$');
  const service = {
    base_url: escaped(stated('--base-url or RIPEN_BASE_URL', 'RIPEN_BASE_URL', options.baseUrl)),
    reports_url: escaped(stated('--reports-url or RIPEN_REPORTS_URL', 'RIPEN_REPORTS_URL', options.reportsUrl)),
    token: '${RIPEN_TOKEN}',
  };
  stated('RIPEN_TOKEN', 'RIPEN_TOKEN');
  const source = { file: 'the stated account', directory: '.', environment };
  const config = parseConfig(JSON.stringify({ service }), source);
  const items = await withService(config, { planAt: new Date(), emit }, async (connected) =>
    connected.filtersData({ filters: catalogFilters }, signal),
  );
  return textOf(items, service, options);
}

type Addresses = Readonly<Record<'base_url' | 'reports_url', string>>;

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
  const usual = usualMetrics.filter((id) => metrics.has(id));
  const base = usual.length > 0 ? usual : [[...metrics].toSorted()[0] ?? 'installs'];
  const cohorts = cohortsOf(metrics);
  const eventIds = idsOf('event_metrics');
  const events = eventsOf(eventIds, metrics);
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
    `# ${counted(metrics.size, 'metric')}, of which ${eventIds.length} of events. \`ripen check --resolved\` prints what it stands for.`,
    '# Next: `npx ripen check`, `npx ripen plan`, `npx ripen sync`.',
    '',
    'service:',
    `  base_url: ${quoted(addresses.base_url)} # partners and links`,
    `  reports_url: ${quoted(addresses.reports_url)} # reports and filters-data`,
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
    '  utc_offset: "+00:00" # set that of your dashboard; there is no summer time',
    `  currency: ${quoted(currency)} # ${because}`,
    '  attribution_type: all',
    '  reattributed: all # leaving it out doubles some reports against the dashboard',
    ...(idsOf('ad_spend_mode').includes('network') ? ['  ad_spend_mode: network # or as your dashboard has it'] : []),
    ...(idsOf('iap_revenue_mode').includes('GROSS_100')
      ? ['  iap_revenue_mode: GROSS_100 # share of gross revenue']
      : []),
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
    ...leftOut(eventIds, events.star).map((line) => `# - ${line}`),
    '# - weekly and monthly cohorts, and other ages: they would make each row longer',
    `# - the other metrics of ${metrics.size}, and slices by ad group and creative: every slice is a table of its own`,
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

/** The currency that was chosen, or that most apps state. */
function chosenCurrency(apps: readonly CatalogItem[], listed: readonly string[], { currency }: AccountOptions) {
  if (currency !== undefined) {
    if (listed.length > 0 && !listed.includes(currency)) throw unlisted('currency', currency, listed);
    return { currency, because: 'as chosen; money is converted to it' };
  }
  const stated = apps.flatMap(({ attributes }) => statedCurrency.safeParse(JSON.parse(attributes ?? '{}')).data ?? []);
  const counts = new Map(stated.map((code) => [code, stated.filter((other) => other === code).length]));
  const [most, ...others] = [...counts].toSorted(([, one], [, other]) => other - one);
  if (most === undefined) return { currency: 'USD', because: 'no app states one; money is converted to it' };
  const [code, count] = most;
  const rest = others.length === 0 ? '' : `, others have ${named(others.map(([other]) => other))}`;
  return { currency: code, because: `of ${count} of ${counted(apps.length, 'app')}${rest}; money is converted to it` };
}

const statedCurrency = z.object({ currency: z.string().regex(/^[A-Z]{3}$/) }).transform(({ currency }) => currency);

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
  return fitting === undefined || !isOfEvents
    ? { star: null, metrics: [] }
    : { star: fitting.pattern, metrics: fitting.metrics };
}

function leftOut(events: readonly string[], star: string | null): string[] {
  if (events.length === 0) return [];
  if (star !== null)
    return ['event metrics by cohort age, and other forms: `ripen catalog --section events` lists them'];
  return [
    `event metrics, ${events.length} of them (${named(events)}): more than a slice may have (${MOST_STARRED});`,
    '  add those you use to a slice, such as "purchase_*"; `ripen catalog WORD` searches',
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
