/** Writes the first configuration for an account, from what filters-data lists. */

import * as z from 'zod';

import { parseConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Catalog, catalogFilters, type CatalogFilter } from '../model/catalog.ts';
import type { CatalogItem } from '../model/catalog-item.ts';
import { isMetricItem } from '../model/metric.ts';
import { MAX_STARRED, starsOf } from '../model/stars.ts';
import { withService } from '../run/circumstances.ts';
import { countText, groupedText, namesText } from '../model/measure.ts';
import { oneLine } from '../report/terminal/printable.ts';

/** A missing address is taken from the environment. */
export interface AccountOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly baseUrl?: string | undefined;
  readonly reportsUrl?: string | undefined;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
}

export async function accountConfigText(options: AccountOptions): Promise<string> {
  const { environment, emit = () => {}, signal = new AbortController().signal } = options;
  const stated = (variable: string, option?: string, value = environment[variable] ?? '') => {
    if (value !== '') return value;
    const name = option === undefined ? variable : `${option} or ${variable}`;
    const message = `The account's catalog could not be requested, because ${name} is not set.`;
    throw new Failure('USAGE_INVALID', message, { hint: `Set ${variable} in the environment.` });
  };
  const service = {
    base_url: stated('RIPEN_BASE_URL', '--base-url', options.baseUrl),
    reports_url: stated('RIPEN_REPORTS_URL', '--reports-url', options.reportsUrl),
    token: '${RIPEN_TOKEN}',
  };
  stated('RIPEN_TOKEN');
  const source = { file: 'the stated account', directory: '.', environment };
  const config = parseConfig(JSON.stringify({ service }), source);
  const items = await withService(config, { planAt: new Date(), emit }, async (connected) =>
    connected.filtersData({ filters: catalogFilters }, signal),
  );
  return textOf(items, service);
}

const usualMetrics = ['installs', 'clicks', 'impressions', 'sessions', 'cost', 'network_cost'];
/** Of each line the first that is listed. */
const usualCohorts = [
  ['all_revenue_total', 'revenue_total', 'revenue'],
  ['cohort_size'],
  ['retained_users', 'retention_rate'],
  ['roas'],
];
/** In days. */
const usualAges = [0, 1, 3, 7, 14, 30, 90];
/** Widest first. The first that matches events, but not too many metrics, is used. */
const eventStars = ['*_events', '*_revenue'];
const MAX_EVENTS = MAX_STARRED - 50;

const MAX_NAMES = 3;
const MAX_APPS = 50;

const statedCurrency = z
  .object({ currency: z.string().regex(/^[A-Z]{3}$/) })
  .transform(({ currency }) => currency);

function textOf(
  items: Catalog,
  service: { readonly base_url: string; readonly reports_url: string },
) {
  const listOf = (filter: CatalogFilter): CatalogItem[] =>
    items.filter((item) => item.filter === filter);
  const idsOf = (filter: CatalogFilter) => listOf(filter).map(({ id }) => id);
  const metrics = new Set(items.filter(isMetricItem).map(({ id }) => id));
  const usual = usualMetrics.filter((id) => metrics.has(id));
  const cohorts = usualCohorts.flatMap((names) => {
    const agesOf = (name: string) => usualAges.filter((age) => metrics.has(`${name}_d${age}`));
    const name = names.find((each) => agesOf(each).length > 0);
    if (name === undefined) return [];
    const ages = agesOf(name).join(',');
    return [`${name}_d${ages.includes(',') ? `{${ages}}` : ages}`];
  });

  const events = idsOf('event_metrics');
  const star = starsOf({ metrics: eventStars, dimensions: usualMetrics }, metrics).find(
    ({ metrics: names }) =>
      names.length <= MAX_EVENTS && names.some((name) => events.includes(name)),
  );
  const eventsComment =
    star === undefined
      ? 'none, or more than a slice may have; add those you use, such as "purchase_*"'
      : `${countText(star.metrics.length, 'metric')} today: ${namesText(star.metrics.map(oneLine), MAX_NAMES)}`;

  const apps = listOf('apps');
  const appsComment = [
    ...apps.slice(0, MAX_APPS).map(({ id, name }) => `  #   ${id}: ${oneLine(name)}`),
    ...(apps.length > MAX_APPS
      ? [`  #   and ${apps.length - MAX_APPS} more: \`ripen catalog\` lists them`]
      : []),
  ].join('\n');

  const ofApps = apps.flatMap(
    ({ attributes }) => statedCurrency.safeParse(JSON.parse(attributes ?? '{}')).data ?? [],
  );
  const countOf = (code: string) => ofApps.filter((other) => other === code).length;
  const [most = 'USD'] = ofApps.toSorted((one, other) => countOf(other) - countOf(one));

  const known = new Set(['hour', 'day', ...idsOf('dimensions')]);
  const dimensions = (...names: string[]) => listText(names.filter((name) => known.has(name)));
  const onlyIf = (isWanted: boolean) => (isWanted ? '' : '# ');
  return `# yaml-language-server: $schema=./ripen.schema.json
#
# Written from what the account listed: ${countText(apps.length, 'app')}, ${countText(metrics.size, 'metric')}, of which ${groupedText(events.length)} of events.
# \`ripen check --resolved\` prints what it stands for. Next: \`npx ripen check\`, \`npx ripen plan\`, \`npx ripen sync\`.

service:
  base_url: ${quoted(service.base_url)} # partners and links
  reports_url: ${quoted(service.reports_url)} # reports and filters-data
  token: \${RIPEN_TOKEN} # from the environment, never written here

x-metrics:
  base: &base ${listText(usual.length > 0 ? usual : ['installs'])}
  cohorts: &cohorts ${listText(cohorts)} # ages that the account lists
  events: &events ${listText(star === undefined ? [] : [star.pattern])} # ${eventsComment}

warehouse: data/warehouse.duckdb # ripen's own file; readers get the copies below
publish:
  - duckdb: analytics/analytics.duckdb # one file, replaced atomically
  - delta: analytics/tables # or s3://bucket/prefix
partners: true
links: { apps: all, max_level: 4, every: 7d }

defaults: # for every slice that does not state its own
  utc_offset: "+00:00" # set that of your dashboard; there is no summer time
  currency: ${quoted(most)} # money is converted to it
  attribution_type: all
  reattributed: all # leaving it out doubles some reports against the dashboard
  ${onlyIf(idsOf('ad_spend_mode').includes('network'))}ad_spend_mode: network # or the setting of your dashboard
  ${onlyIf(idsOf('iap_revenue_mode').includes('GROSS_100'))}iap_revenue_mode: GROSS_100 # share of gross revenue
  metrics: [*base, *cohorts]
  date_period: -60d:yesterday # begin earlier to load more
  # filters: { app_token__in: [] }
${appsComment}

slices:
  - name: network_daily
    dimensions: ${dimensions('day', 'app_token', 'app', 'partner_name', 'network', 'os_name', 'country_code')}
    metrics: [*base, *cohorts, *events]
  - name: campaign_daily
    dimensions: ${dimensions('day', 'app_token', 'app', 'network', 'campaign')}
  - name: app_hourly
    dimensions: ${dimensions('hour', 'app_token', 'app', 'os_name')}
    metrics: *base # few, as it has many rows
    date_period: -14d:yesterday

# Left out: weekly and monthly cohorts, other ages, and slices by ad group and creative; every slice is a table of its own.
# \`ripen catalog WORD\` searches the other metrics.
`;
}

const quoted = (text: string) => JSON.stringify(text);

const listText = (names: readonly string[]) =>
  `[${names.map((name) => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name))).join(', ')}]`;
