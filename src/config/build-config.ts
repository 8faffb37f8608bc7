/** Settings → what is run: the service as it is called, and each slice, with the defaults under it, as it is planned, asked for and loaded. */

import { resolve } from 'node:path';

import { MS_PER_DAY } from '../model/calendar.ts';
import { dateDimensions } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import type { HttpService, SimulatorService } from './config.ts';
import type { Environment } from './environment-variables.ts';
import { proxyOf } from './proxy.ts';
import { parameterNames, type ParameterValue, type ReportSettings, statedDefaults } from './report-settings.ts';
import { Secret } from './secret.ts';
import {
  type HttpSettings,
  type ServiceSettings,
  simulatorDefaults,
  type SimulatorOptions,
} from './service-settings.ts';
import { utcOffset } from './setting-kinds.ts';
import type { DefaultsSettings, SliceSettings } from './slice-settings.ts';

/**
 * The service; `fileToken` is what the token file holds, `base` where relative paths start. Throws `CONFIG_INVALID` when
 * the environment names a proxy that is none.
 */
export function buildService(
  settings: ServiceSettings,
  fileToken: string | null,
  base: string,
  environment: Environment,
): HttpService | SimulatorService {
  if (settings === 'simulator') return buildSimulator(simulatorDefaults());
  return 'simulator' in settings
    ? buildSimulator(settings.simulator)
    : buildHttp(settings, fileToken, base, environment);
}

function buildHttp(
  settings: HttpSettings,
  fileToken: string | null,
  base: string,
  environment: Environment,
): HttpService {
  return {
    kind: 'http',
    baseUrl: settings.base_url,
    reportsUrl: settings.reports_url,
    costUrl: settings.cost_url ?? null,
    token: new Secret(settings.token ?? fileToken ?? ''),
    ...(settings.token_file === undefined ? {} : { tokenFile: resolve(base, settings.token_file) }),
    ...throughProxy(settings, environment),
    caFile: settings.ca_file === undefined ? null : resolve(base, settings.ca_file),
    maxConcurrency: settings.max_concurrency,
    maxStartsPerSecond: settings.max_starts_per_second,
    campaignConcurrency: settings.campaign_concurrency,
    requestTimeoutMs: settings.request_timeout,
    maxResponseBytes: settings.max_response_bytes,
  };
}

function buildSimulator(options: SimulatorOptions): SimulatorService {
  return {
    kind: 'simulator',
    seed: options.seed,
    now: options.now ?? null,
    apps: options.apps,
    partners: options.partners,
    links: options.links,
    rowsPerDay: options.rows_per_day,
    maxConcurrency: options.max_concurrency,
  };
}

/** Headers, and the proxy if there is one: then what is said to it is said to nobody else. */
function throughProxy(
  { base_url: base, reports_url: reports, cost_url: cost, headers, cost_headers: costHeaders }: HttpSettings,
  environment: Environment,
): Pick<HttpService, 'headers' | 'costHeaders' | 'proxy'> {
  const sent = { headers: headersOf(headers), costHeaders: secretsOf(costHeaders) };
  const proxy = proxyOf(environment, cost === undefined ? [base, reports] : [base, reports, cost]);
  if (proxy === null) return sent;
  const isForProxy = ([name]: readonly [string, unknown]): boolean => /^proxy-authorization$/i.test(name);
  const stated = [...Object.entries(sent.headers), ...Object.entries(sent.costHeaders)].find(isForProxy);
  const credential = stated?.[1] instanceof Secret ? stated[1] : proxy.credential;
  const forService = <Value>(all: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(all).filter((entry) => !isForProxy(entry)));
  return {
    headers: forService(sent.headers),
    costHeaders: forService(sent.costHeaders),
    proxy: { ...proxy, credential },
  };
}

type StatedHeaders = Readonly<Record<string, string | { readonly secret: string }>>;

/** Headers that carry a credential by their definition (RFC 9110), however they are stated. */
const CREDENTIAL_HEADER = /^(?:proxy-)?authorization$/i;

const secretOf = (value: string | { readonly secret: string }): Secret =>
  new Secret(typeof value === 'string' ? value : value.secret);

/** An account's number is no secret, and may occur in the data: only what is stated as one is. */
const headersOf = (headers: StatedHeaders = {}): Readonly<Record<string, Secret | string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' && !CREDENTIAL_HEADER.test(name) ? value : secretOf(value),
    ]),
  );

const secretsOf = (headers: StatedHeaders = {}): Readonly<Record<string, Secret>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, secretOf(value)]));

/** A horizon is counted from the end of a period; this is what the service takes to settle then. */
const SETTLE_MS = 3_600_000;

/** Lifetime values change for ever; after this they are left alone, still maturing. */
const LIFETIME_MS = 120 * MS_PER_DAY;

const UTC = utcOffset.parse('+00:00');

/** The slice, complete; asked of a service. */
export function buildSlice(
  settings: SliceSettings,
  defaults: DefaultsSettings,
  service: HttpService | SimulatorService,
): Slice {
  const parameters = wireParameters(settings, defaults);
  const horizons = { ...defaults.horizons, ...settings.horizons };
  return {
    name: settings.name,
    dimensions: settings.dimensions,
    metrics: settings.metrics,
    grain: dateDimensions.find((dimension) => settings.dimensions.includes(dimension)) ?? null,
    datePeriod: settings.date_period,
    utcOffset: settings.utc_offset ?? defaults.utc_offset ?? UTC,
    parameters,
    headers: service.kind === 'http' ? openHeaders(service) : {},
    refresh: settings.refresh ?? defaults.refresh ?? 'milestones',
    horizons: [...patternsOf(settings.horizons), ...patternsOf(defaults.horizons)],
    settleMs: horizons.settle ?? SETTLE_MS,
    lifetimeMs: horizons.lifetime ?? LIFETIME_MS,
    types: settings.types ?? {},
    additive: settings.additive ?? {},
    completeness: settings.completeness ?? defaults.completeness ?? 'require',
    retainDays: settings.retain ?? defaults.retain ?? null,
    maxRejects: settings.max_rejects ?? defaults.max_rejects ?? 0,
  };
}

/** The headers that are no secret, names in lower case, sorted. */
const openHeaders = ({ headers }: HttpService): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers)
      .flatMap(([name, value]): [string, string][] => (typeof value === 'string' ? [[name.toLowerCase(), value]] : []))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Every report parameter but those that planning decides, as the text that goes on the wire, sorted by name. */
function wireParameters(settings: SliceSettings, defaults: DefaultsSettings): Readonly<Record<string, string>> {
  const stated = { ...statedDefaults, ...statedValues(defaults), ...statedValues(settings) };
  return Object.fromEntries(
    Object.entries(stated)
      .flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, wireText(value)]]))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** What one level of the settings says of report parameters; null leaves one out. */
function statedValues(settings: ReportSettings): Readonly<Record<string, ParameterValue | null>> {
  const values: [string, ParameterValue | null | undefined][] = [
    ...parameterNames.map((name): [string, ParameterValue | null | undefined] => [name, settings[name]]),
    ...Object.entries(settings.filters ?? {}),
    ...Object.entries(settings.extra_parameters ?? {}),
  ];
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** The service's lists are joined by commas; it has no escape for one, which is why values hold none. */
const wireText = (value: ParameterValue): string => (Array.isArray(value) ? value.join(',') : String(value));

function patternsOf(horizons: DefaultsSettings['horizons']): Slice['horizons'] {
  return Object.entries(horizons ?? {}).flatMap(([pattern, horizonMs]) =>
    pattern === 'settle' || pattern === 'lifetime' || horizonMs === undefined ? [] : [{ pattern, horizonMs }],
  );
}
