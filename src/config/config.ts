/** The configuration as one frozen value, ready to plan, request and load. */

import { dirname, resolve } from 'node:path';

import { Failure } from '../errors.ts';
import { cubeMetrics } from '../model/cube.ts';
import { dateDimensions } from '../model/dimension.ts';
import { MAX_URL_BYTES, type Slice } from '../model/slice.ts';
import { hasStars } from '../model/stars.ts';
import { parameterNames } from './report-settings.ts';
import { Secret } from './secret.ts';
import { isLoopback } from './setting-kinds.ts';
import type { Settings } from './settings.ts';
import type { SliceSettings } from './slice-settings.ts';
import type { Environment } from './settings-text.ts';

export interface Proxy {
  readonly address: string;
  readonly credential: Secret | null;
  /** As NO_PROXY writes them. */
  readonly exceptions: readonly string[];
}

type Frozen<T> = T extends Secret | Date
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export type SimulatorService = Frozen<Extract<Settings['service'], { kind: 'simulator' }>>;

export type HttpService = Frozen<ReturnType<typeof httpService>>;

/** Its path is absolute, or `s3://bucket/prefix`. */
export type PublishTarget = Frozen<Settings['publish'][number]>;

export type { ObjectStore } from './publish-settings.ts';

export type Links = Frozen<NonNullable<Settings['links']>>;

export type Audit = Frozen<Settings['audits'][number]>;

export type RunEnding = Settings['notify'][number]['on'][number];

export interface Notify {
  readonly url: Secret;
  readonly on: readonly RunEnding[];
  readonly proxy: Proxy | null;
}

export interface Config {
  /** Absolute, as all other paths, which are resolved against its directory. */
  readonly file: string;
  readonly name?: string;
  readonly service: HttpService | SimulatorService;
  readonly warehouse: string;
  readonly publish: readonly PublishTarget[];
  /** How long raw answers are kept (null: not at all). */
  readonly archiveMs: number | null;
  /** How far back final periods are compared with the service's totals (null: not at all). */
  readonly controlMs: number | null;
  readonly notify: readonly Notify[];
  readonly audits: readonly Audit[];
  readonly partners: boolean;
  readonly links: Links | null;
  readonly slices: readonly Slice[];
}

interface Origin {
  readonly file: string;
  readonly fileToken: string | null;
  readonly environment: Environment;
}

export function buildConfig(settings: Settings, origin: Origin): Config {
  const { file, environment } = origin;
  const base = dirname(file);
  const { name, service: stated } = settings;
  const service = 'kind' in stated ? stated : httpService(stated, origin);
  return deepFrozen({
    file,
    ...(name === undefined ? {} : { name }),
    service,
    warehouse: resolve(base, settings.warehouse),
    publish: settings.publish.map((target) =>
      'store' in target ? target : { ...target, path: resolve(base, target.path) },
    ),
    archiveMs: settings.archive,
    controlMs: settings.control,
    notify: settings.notify.map(({ url, on }) => ({
      url: new Secret(url),
      on,
      proxy: proxyOf(environment, [url]),
    })),
    audits: settings.audits,
    partners: settings.partners,
    links: settings.links,
    slices: settings.slices.map((slice) => buildSlice(slice, service)),
  });
}

function httpService(
  settings: Exclude<Settings['service'], { kind: 'simulator' }>,
  { file, fileToken, environment }: Origin,
) {
  const base = dirname(file);
  const { base_url: baseUrl, reports_url: reportsUrl, cost_url: costUrl = null } = settings;
  const addresses = [baseUrl, reportsUrl, costUrl].filter((address) => address !== null);
  const proxy = proxyOf(environment, addresses);
  return {
    kind: 'http' as const,
    baseUrl,
    reportsUrl,
    costUrl,
    token: new Secret(settings.token ?? fileToken ?? ''),
    ...(settings.token_file === undefined ? {} : { tokenFile: resolve(base, settings.token_file) }),
    ...(proxy === null ? {} : { proxy }),
    headers: settings.headers ?? {},
    costHeaders: settings.cost_headers ?? {},
    caFile: settings.ca_file === undefined ? null : resolve(base, settings.ca_file),
    maxConcurrency: settings.max_concurrency,
    maxStartsPerSecond: settings.max_starts_per_second,
    campaignConcurrency: settings.campaign_concurrency,
    requestTimeoutMs: settings.request_timeout,
    maxResponseBytes: settings.max_response_bytes,
    maxUrlBytes: settings.max_url_bytes,
  };
}

function buildSlice(settings: SliceSettings, service: Config['service']): Slice {
  const { settle, lifetime, ...horizons } = settings.horizons;
  const cube = settings.cohorts === undefined ? null : cubeMetrics(settings.cohorts);
  const metrics = cube?.map(({ metric }) => metric) ?? settings.metrics ?? [];
  const { headers, maxUrlBytes } =
    service.kind === 'http' ? service : { headers: {}, maxUrlBytes: MAX_URL_BYTES };
  const parameters = {
    ...Object.fromEntries(parameterNames.map((name) => [name, settings[name]])),
    ...settings.filters,
    ...settings.extra_parameters,
  };
  return {
    name: settings.name,
    dimensions: settings.dimensions,
    metrics,
    ...(cube === null ? {} : { cube }),
    ...(maxUrlBytes === MAX_URL_BYTES ? {} : { maxUrlBytes }),
    ...(hasStars({ metrics }) ? { maxMetrics: settings.max_metrics } : {}),
    grain: dateDimensions.find((dimension) => settings.dimensions.includes(dimension)) ?? null,
    datePeriod: settings.date_period,
    utcOffset: settings.utc_offset,
    weekStartsOn: settings.week_starts_on,
    parameters: sortedByName(
      Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
        // A list becomes its items joined by commas, for which the service has no escape: no item contains one.
        value === null || value === undefined ? [] : [[name, String(value)]],
      ),
    ),
    headers: sortedByName(
      Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        typeof value === 'string' ? [[name.toLowerCase(), value]] : [],
      ),
    ),
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

const sortedByName = (entries: [string, string][]) =>
  Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}

/** Throws `CONFIG_INVALID` for a proxy that is not an http or https address. */
function proxyOf(environment: Environment, addresses: readonly string[]): Proxy | null {
  // Plain http requests never leave this machine, so the variables for http only replace missing ones for https.
  const variable = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'].find(
    (name) => (environment[name] ?? '').trim() !== '',
  );
  const exceptions = (environment['no_proxy'] ?? environment['NO_PROXY'] ?? '')
    .split(/[\s,]+/)
    .filter((host) => host !== '');
  const loopback = addresses.map((address) => new URL(address).hostname).filter(isLoopback);
  if (variable === undefined || exceptions.includes('*') || loopback.length === addresses.length)
    return null;
  const text = environment[variable]?.trim() ?? '';
  try {
    // A host and port alone mean http, as in other tools.
    const { protocol, origin, username, password } = new URL(
      text.includes('://') ? text : `http://${text}`,
    );
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(protocol);
    const [user, plain] = [decodeURIComponent(username), decodeURIComponent(password)];
    // The plain password becomes a known secret, too, so that it is scrubbed.
    const basic = Buffer.from(`${user}:${new Secret(plain).reveal()}`).toString('base64');
    const credential = user === '' && plain === '' ? null : new Secret(`Basic ${basic}`);
    return { address: origin, credential, exceptions: [...loopback, ...exceptions] };
  } catch {
    const message = `The proxy in the variable ${variable} is not an http or https address`;
    throw new Failure('CONFIG_INVALID', message, {
      facts: { variable },
      hint: `Correct ${variable}, unset it, or name the hosts of the service in NO_PROXY.`,
    });
  }
}
