/** Settings → what is run: paths made absolute, credentials wrapped, each slice as it is planned, requested and loaded. */

import { resolve } from 'node:path';

import { UTC } from '../model/calendar.ts';
import { cubeMetrics } from '../model/cube.ts';
import { dateDimensions } from '../model/dimension.ts';
import { MAX_URL_BYTES, type Slice } from '../model/slice.ts';
import { hasStars } from '../model/stars.ts';
import type { Config, HttpService, Links, PublishTarget, SimulatorService } from './config.ts';
import type { Environment } from './expansion.ts';
import { proxyOf } from './proxy.ts';
import { bucketAndPrefix } from './publish-settings.ts';
import { type ParameterValue, parameterNames, statedDefaults } from './report-settings.ts';
import { Secret } from './secret.ts';
import { type HttpSettings, type StatedSimulator, simulatorOptions } from './service-settings.ts';
import type { Settings } from './settings.ts';
import type { SliceSettings } from './slice-settings.ts';

/** Where settings were read, and what they do not say themselves. */
export interface Origin {
  readonly file: string;
  /** Where relative paths start. */
  readonly base: string;
  /** What the token file holds; null for none. */
  readonly fileToken: string | null;
  readonly environment: Environment;
}

/** The configuration, frozen to its depth. Throws `CONFIG_INVALID` when the environment names a proxy that is none. */
export function buildConfig(stated: Settings, origin: Origin): Config {
  const { file, base, environment } = origin;
  const { links } = stated;
  const service = buildService(stated.service, origin);
  return deepFrozen({
    file,
    ...(stated.name === undefined ? {} : { name: stated.name }),
    service,
    warehouse: resolve(base, stated.warehouse),
    publish: stated.publish.flatMap((target) => buildTarget(target, base)),
    archiveMs: stated.archive === 'off' ? null : stated.archive,
    audit: stated.audit,
    notify: stated.notify.map(({ url, on }) => ({ url: new Secret(url), on, proxy: proxyOf(environment, [url]) })),
    partners: stated.partners,
    links: links === false ? null : buildLinks(links),
    slices: stated.slices.map((slice) => buildSlice(slice, service)),
  });
}

function buildService(settings: Settings['service'], origin: Origin): HttpService | SimulatorService {
  if (settings === 'simulator') return buildSimulator(simulatorOptions.parse({}));
  return 'simulator' in settings ? buildSimulator(settings.simulator) : buildHttp(settings, origin);
}

function buildHttp(settings: HttpSettings, { base, fileToken, environment }: Origin): HttpService {
  const { base_url: campaign, reports_url: reports, cost_url: cost } = settings;
  const proxy = proxyOf(environment, cost === undefined ? [campaign, reports] : [campaign, reports, cost]);
  return {
    kind: 'http',
    baseUrl: campaign,
    reportsUrl: reports,
    costUrl: cost ?? null,
    token: new Secret(settings.token ?? fileToken ?? ''),
    ...(settings.token_file === undefined ? {} : { tokenFile: resolve(base, settings.token_file) }),
    headers: headersOf(settings.headers),
    costHeaders: secretsOf(settings.cost_headers),
    ...(proxy === null ? {} : { proxy }),
    caFile: settings.ca_file === undefined ? null : resolve(base, settings.ca_file),
    maxConcurrency: settings.max_concurrency,
    maxStartsPerSecond: settings.max_starts_per_second,
    campaignConcurrency: settings.campaign_concurrency,
    requestTimeoutMs: settings.request_timeout,
    maxResponseBytes: settings.max_response_bytes,
    maxUrlBytes: settings.max_url_bytes,
  };
}

function buildSimulator(options: StatedSimulator): SimulatorService {
  const {
    seed,
    now = null,
    apps,
    partners,
    links,
    rows_per_day: rowsPerDay,
    max_concurrency: maxConcurrency,
  } = options;
  return { kind: 'simulator', seed, now, apps, partners, links, rowsPerDay, maxConcurrency };
}

type StatedHeaders = Readonly<Record<string, string | { readonly secret: string }>>;

const secretOf = (value: string | { readonly secret: string }): Secret =>
  new Secret(typeof value === 'string' ? value : value.secret);

/** An account's number is no secret, and may occur in the data: only what is stated as one is. */
const headersOf = (headers: StatedHeaders = {}): Readonly<Record<string, Secret | string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : secretOf(value)]),
  );

const secretsOf = (headers: StatedHeaders = {}): Readonly<Record<string, Secret>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, secretOf(value)]));

function buildTarget(target: Settings['publish'][number], base: string): PublishTarget[] {
  const {
    duckdb,
    delta,
    parquet,
    mode,
    keep: keepMs,
    keep_released: keepReleased,
    column_mapping: columnMapping,
  } = target;
  if (duckdb !== undefined) return [{ kind: 'duckdb', path: resolve(base, duckdb), mode }];
  const stated = delta ?? parquet;
  if (stated === undefined) return [];
  const kept =
    delta === undefined
      ? ({ kind: 'parquet' } as const)
      : ({
          kind: 'delta',
          keepMs,
          ...(keepReleased ? { keepReleased } : {}),
          ...(columnMapping ? { columnMapping } : {}),
        } as const);
  const place = bucketAndPrefix(stated);
  if (place === null) return [{ ...kept, path: resolve(base, stated), mode }];
  const { endpoint = null, region = null, path_style: pathStyle = endpoint !== null } = target;
  const path = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`;
  return [{ ...kept, path, mode, store: { ...place, endpoint, region, pathStyle } }];
}

/** The slice, complete; requested from a service. */
function buildSlice(settings: SliceSettings, service: HttpService | SimulatorService): Slice {
  const { settle, lifetime, ...horizons } = settings.horizons;
  const cube = settings.cohorts === undefined ? null : cubeMetrics(settings.cohorts);
  const metrics = cube?.map(({ metric }) => metric) ?? settings.metrics ?? [];
  return {
    name: settings.name,
    dimensions: settings.dimensions,
    metrics,
    ...(cube === null ? {} : { cube }),
    ...(service.kind === 'http' && service.maxUrlBytes !== MAX_URL_BYTES ? { maxUrlBytes: service.maxUrlBytes } : {}),
    ...(hasStars({ metrics }) ? { maxMetrics: settings.max_metrics } : {}),
    grain: dateDimensions.find((dimension) => settings.dimensions.includes(dimension)) ?? null,
    datePeriod: settings.date_period,
    utcOffset: settings.utc_offset ?? UTC,
    parameters: wireParameters(settings),
    headers: service.kind === 'http' ? openHeaders(service) : {},
    refresh: settings.refresh,
    horizons: Object.entries(horizons).map(([pattern, horizonMs]) => ({ pattern, horizonMs })),
    settleMs: settle,
    lifetimeMs: lifetime,
    types: settings.types,
    additive: settings.additive,
    completeness: settings.completeness,
    retainDays: settings.retain ?? null,
    maxRejects: settings.max_rejects,
  };
}

const sortedByName = (entries: readonly (readonly [string, string])[]): Readonly<Record<string, string>> =>
  Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** The headers that are no secret, names in lower case, sorted. */
const openHeaders = ({ headers }: HttpService): Readonly<Record<string, string>> =>
  sortedByName(
    Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name.toLowerCase(), value]] : [],
    ),
  );

/** Every report parameter but those that planning decides, as the text that goes on the wire, sorted by name; null leaves one out. */
function wireParameters(settings: SliceSettings): Readonly<Record<string, string>> {
  const values = new Map<string, ParameterValue | null | undefined>([
    ...Object.entries(statedDefaults),
    ...parameterNames
      .map((name): [string, ParameterValue | null | undefined] => [name, settings[name]])
      .filter(([, value]) => value !== undefined),
    ...Object.entries(settings.filters ?? {}),
    ...Object.entries(settings.extra_parameters ?? {}),
  ]);
  return sortedByName(
    [...values].flatMap(([name, value]): [string, string][] =>
      value === null || value === undefined ? [] : [[name, wireText(value)]],
    ),
  );
}

/** The service's lists are joined by commas; it has no escape for one, which is why values hold none. */
const wireText = (value: ParameterValue): string => (Array.isArray(value) ? value.join(',') : String(value));

/** The value itself, with every object and list in it frozen; instances of classes are left as they are. */
function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}

function buildLinks({ apps, every, max_level: maxLevel }: Exclude<Settings['links'], false>): Links {
  return { apps, maxLevel, ...(every === undefined ? {} : { everyMs: every }) };
}
