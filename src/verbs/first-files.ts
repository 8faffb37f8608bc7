/** Writes a first configuration: the bundled one, or one for an account from what filters-data lists. */

import { lstatSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { parseConfig } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Catalog, catalogFilters, type CatalogFilter } from '../model/catalog.ts';
import { countText, groupedText, namesText } from '../model/measure.ts';
import { isMetricItem } from '../model/metric.ts';
import { MAX_STARRED, starsOf } from '../model/stars.ts';
import { makeDirectory } from '../publish/places/replacement.ts';
import { oneLine } from '../report/terminal/printable.ts';
import { withService } from '../run/circumstances.ts';

export interface InitOptions {
  readonly directory: string;
  readonly simulator?: boolean;
  /** Configures what the filters-data of an account lists. */
  readonly account?: AccountOptions;
  /** Permissions of the files (default: 0o644). */
  readonly mode?: number;
}

/** A missing address is taken from the environment. */
interface AccountOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly baseUrl?: string | undefined;
  readonly reportsUrl?: string | undefined;
  readonly emit?: Emit;
  readonly signal?: AbortSignal;
}

export interface FirstFiles {
  readonly written: readonly string[];
}

/** Beside `ripen.yaml`, so that editors need no network to find it. */
const SCHEMA_FILE = 'ripen.schema.json';

const environmentText = `# Copy to .env beside ripen.yaml, fill in, keep out of version control. ripen reads .env for variables that the environment lacks.
RIPEN_TOKEN=
`;

const ignoredText = `# Secrets, and files that ripen writes.
.env
data/
analytics/
`;

/** The path is the same from `src/verbs/` and `dist/bundle/`. */
const bundled = async (name: string) =>
  readFile(new URL(`../../config/${name}`, import.meta.url), 'utf8');

export async function writeFirstFiles(options: InitOptions): Promise<FirstFiles> {
  const { directory, simulator = false, account, mode = 0o644 } = options;
  const pathOf = (name: string) => join(directory, name);
  const existing = ['ripen.yaml', '.env.example', SCHEMA_FILE].map(pathOf).filter(isThere);
  if (existing.length > 0) {
    const message = `Nothing was written, because these files already exist: ${existing.join(', ')}`;
    throw new Failure('USAGE_INVALID', message, {
      hint: 'Run `ripen init` in another directory, or move these files away.',
    });
  }
  let config = account === undefined ? await bundled('first.yaml') : await accountConfig(account);
  if (simulator && account === undefined)
    config = config
      .replace('copy .env.example to .env and fill it in, then ', '')
      .replace(
        /^service:\n(?: .*\n)+/m,
        'service: simulator # comes with ripen: no account, no network\n',
      );
  const texts = new Map([
    ['ripen.yaml', config],
    ['.env.example', environmentText],
    [SCHEMA_FILE, await bundled(SCHEMA_FILE)],
  ]);
  if (!isThere(pathOf('.gitignore'))) texts.set('.gitignore', ignoredText);
  try {
    await makeDirectory(directory, mode);
    for (const [name, text] of texts) {
      // `wx` does not overwrite a file that was created since.
      await writeFile(pathOf(name), text, { flag: 'wx', mode });
      await chmod(pathOf(name), mode);
    }
  } catch (cause) {
    const message = `The configuration could not be written to ${directory}: ${String(cause)}`;
    const hint = 'Choose a directory that you may write to, on a disk with free space.';
    throw new Failure('STORAGE_FAILED', message, { hint, cause });
  }
  return { written: [...texts.keys()].map(pathOf) };
}

/** Also true of a broken link. If a path cannot be inspected, writing fails with the reason. */
function isThere(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

async function accountConfig(options: AccountOptions) {
  const { environment, emit = () => {}, signal = new AbortController().signal } = options;
  const setting = (variable: string, option?: string, value = environment[variable] ?? '') => {
    if (value !== '') return value;
    const name = option === undefined ? variable : `${option} or ${variable}`;
    const message = `The account's catalog could not be requested, because ${name} is not set.`;
    throw new Failure('USAGE_INVALID', message, { hint: `Set ${variable} in the environment.` });
  };
  const service = {
    base_url: setting('RIPEN_BASE_URL', '--base-url', options.baseUrl),
    reports_url: setting('RIPEN_REPORTS_URL', '--reports-url', options.reportsUrl),
    token: '${RIPEN_TOKEN}',
  };
  setting('RIPEN_TOKEN');
  const source = { file: 'the stated account', directory: '.', environment };
  const config = parseConfig(JSON.stringify({ service }), source);
  const items = await withService(config, { planAt: new Date(), emit }, async (connected) =>
    connected.filtersData({ filters: catalogFilters }, signal),
  );
  return accountText(items, service);
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

const appCurrency = z.object({ currency: z.string().regex(/^[A-Z]{3}$/) });

function accountText(items: Catalog, service: Record<'base_url' | 'reports_url', string>) {
  const listOf = (list: CatalogFilter) => items.filter(({ filter }) => filter === list);
  const idsOf = (list: CatalogFilter) => listOf(list).map(({ id }) => id);
  const metrics = new Set(items.filter(isMetricItem).map(({ id }) => id));
  const usual = usualMetrics.filter((id) => metrics.has(id));
  const cohorts = usualCohorts.flatMap((names) => {
    for (const name of names) {
      const ages = usualAges.filter((age) => metrics.has(`${name}_d${age}`));
      if (ages.length > 0) return [`${name}_d${ages.length > 1 ? `{${ages.join(',')}}` : ages[0]}`];
    }
    return [];
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
  const appLines = apps.slice(0, MAX_APPS).map(({ id, name }) => `  #   ${id}: ${oneLine(name)}`);
  if (apps.length > MAX_APPS)
    appLines.push(`  #   and ${apps.length - MAX_APPS} more: \`ripen catalog\` lists them`);

  const currencies = apps.flatMap(
    ({ attributes }) => appCurrency.safeParse(JSON.parse(attributes ?? '{}')).data?.currency ?? [],
  );
  const countOf = (code: string) => currencies.filter((other) => other === code).length;
  const [currency = 'USD'] = currencies.toSorted((one, other) => countOf(other) - countOf(one));

  const listed = new Set(['hour', 'day', ...idsOf('dimensions')]);
  const dimensions = (...names: string[]) => listText(names.filter((name) => listed.has(name)));
  const onlyIf = (isWanted: boolean) => (isWanted ? '' : '# ');
  return `# yaml-language-server: $schema=./ripen.schema.json
#
# Written from what the account listed: ${countText(apps.length, 'app')}, ${countText(metrics.size, 'metric')}, of which ${groupedText(events.length)} of events.
# \`ripen check --resolved\` prints it resolved. Next: \`npx ripen check\`, \`npx ripen plan\`, \`npx ripen sync\`.

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
  currency: ${quoted(currency)} # money is converted to it
  attribution_type: all
  reattributed: all # leaving it out doubles some reports against the dashboard
  ${onlyIf(idsOf('ad_spend_mode').includes('network'))}ad_spend_mode: network # or the setting of your dashboard
  ${onlyIf(idsOf('iap_revenue_mode').includes('GROSS_100'))}iap_revenue_mode: GROSS_100 # share of gross revenue
  metrics: [*base, *cohorts]
  date_period: -60d:yesterday # begin earlier to load more
  # filters: { app_token__in: [] }
${appLines.join('\n')}

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
