/** The one frozen value that all outside words become: paths absolute, credentials wrapped, each slice as it is planned, requested and loaded. */

import { resolve } from 'node:path';

import { Failure } from '../errors.ts';
import { cubeMetrics } from '../model/cube.ts';
import { dateDimensions } from '../model/dimension.ts';
import { MAX_URL_BYTES, type Slice } from '../model/slice.ts';
import { hasStars } from '../model/stars.ts';
import { type ParameterValue, parameterNames } from './report-settings.ts';
import { Secret } from './secret.ts';
import { isLoopback } from './setting-kinds.ts';
import type { Settings } from './settings.ts';
import type { SliceSettings } from './slice-settings.ts';
import type { Environment } from './variables.ts';

/** What connections to other machines go through. */
export interface Proxy {
  /** An origin of http or https. */
  readonly address: string;
  /** Its `Proxy-Authorization`; null when it wants none. */
  readonly credential: Secret | null;
  /** Hosts that are reached without it, as NO_PROXY writes them. */
  readonly exceptions: readonly string[];
}

type Frozen<T> = T extends Secret | Date ? T : T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;

export type SimulatorService = Frozen<Extract<Settings['service'], { kind: 'simulator' }>>;

/** The real service; its settings are described in `settings.ts`. Without `proxy` connections go through nothing. */
export type HttpService = Frozen<ReturnType<typeof httpService>>;

/** A copy for readers; an absolute path, or `s3://bucket/prefix`. */
export type PublishTarget = Frozen<Settings['publish'][number]>;

export type { ObjectStore } from './publish-settings.ts';

export type Links = Frozen<NonNullable<Settings['links']>>;

export type Outcome = Settings['notify'][number]['on'][number];

/** An address that is told of a run's end. */
export interface Notify {
  /** Who knows it can write there. */
  readonly url: Secret;
  readonly on: readonly Outcome[];
  /** What the connection goes through; null: nothing. */
  readonly proxy: Proxy | null;
}

export interface Config {
  /** Absolute path of the file it was read from; other paths are absolute, resolved against its directory. */
  readonly file: string;
  /** The name of the account; absent: none. */
  readonly name?: string;
  readonly service: HttpService | SimulatorService;
  readonly warehouse: string;
  readonly publish: readonly PublishTarget[];
  /** How long raw answers are kept; null keeps none. */
  readonly archiveMs: number | null;
  /** Windows of final cells asked for again each night. */
  readonly audit: number;
  readonly notify: readonly Notify[];
  readonly partners: boolean;
  readonly links: Links | null;
  readonly slices: readonly Slice[];
}

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
  const service = 'kind' in stated.service ? stated.service : httpService(stated.service, origin);
  return deepFrozen({
    file,
    ...(stated.name === undefined ? {} : { name: stated.name }),
    service,
    warehouse: resolve(base, stated.warehouse),
    publish: stated.publish.map((target) => {
      return 'store' in target ? target : { ...target, path: resolve(base, target.path) };
    }),
    archiveMs: stated.archive,
    audit: stated.audit,
    notify: stated.notify.map(({ url, on }) => ({ url: new Secret(url), on, proxy: proxyOf(environment, [url]) })),
    partners: stated.partners,
    links: stated.links,
    slices: stated.slices.map((slice) => buildSlice(slice, service)),
  });
}

function httpService(
  stated: Exclude<Settings['service'], { kind: 'simulator' }>,
  { base, fileToken, environment }: Origin,
) {
  const { base_url: baseUrl, reports_url: reportsUrl, cost_url: costUrl = null } = stated;
  const proxy = proxyOf(environment, costUrl === null ? [baseUrl, reportsUrl] : [baseUrl, reportsUrl, costUrl]);
  return {
    kind: 'http' as const,
    baseUrl,
    reportsUrl,
    costUrl,
    token: new Secret(stated.token ?? fileToken ?? ''),
    ...(stated.token_file === undefined ? {} : { tokenFile: resolve(base, stated.token_file) }),
    ...(proxy === null ? {} : { proxy }),
    headers: stated.headers ?? {},
    costHeaders: stated.cost_headers ?? {},
    caFile: stated.ca_file === undefined ? null : resolve(base, stated.ca_file),
    maxConcurrency: stated.max_concurrency,
    maxStartsPerSecond: stated.max_starts_per_second,
    campaignConcurrency: stated.campaign_concurrency,
    requestTimeoutMs: stated.request_timeout,
    maxResponseBytes: stated.max_response_bytes,
    maxUrlBytes: stated.max_url_bytes,
  };
}

/** The slice, complete; requested from a service. */
function buildSlice(settings: SliceSettings, service: Config['service']): Slice {
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
    utcOffset: settings.utc_offset,
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

/** The report parameters that planning does not decide, sorted by name, each as the text that is sent; null leaves a parameter out. */
function wireParameters(settings: SliceSettings): Readonly<Record<string, string>> {
  const values: [string, ParameterValue | null | undefined][] = [
    ...parameterNames.map((name): [string, ParameterValue | null | undefined] => [name, settings[name]]),
    ...Object.entries(settings.filters ?? {}),
    ...Object.entries(settings.extra_parameters ?? {}),
  ];
  // The service's lists are joined by commas; it has no escape for one, which is why values hold none.
  return sortedByName(
    values.flatMap(([name, value]): [string, string][] =>
      value === null || value === undefined ? [] : [[name, Array.isArray(value) ? value.join(',') : String(value)]],
    ),
  );
}

/** The value itself, with every object and list in it frozen; instances of classes are left as they are. */
function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}

/** A plain request leaves this machine never, so the variable for plain http only stands in for the other. */
const VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'] as const;

/** The forward proxy for these addresses, as the usual variables name it; null for none. Throws `CONFIG_INVALID` for one that is no http or https URL. */
function proxyOf(environment: Environment, addresses: readonly string[]): Proxy | null {
  const variable = VARIABLES.find((name) => (environment[name] ?? '').trim() !== '');
  const named = (environment['no_proxy'] ?? environment['NO_PROXY'] ?? '')
    .split(/[\s,]+/)
    .filter((host) => host !== '');
  const own = addresses.map((address) => new URL(address).hostname).filter(isLoopback);
  if (variable === undefined || named.includes('*') || own.length === addresses.length) return null;
  const stated = environment[variable]?.trim() ?? '';
  try {
    // A host and port alone mean http, as they do elsewhere.
    const { protocol, origin, username, password } = new URL(stated.includes('://') ? stated : `http://${stated}`);
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(protocol);
    const credential = credentialOf(decodeURIComponent(username), decodeURIComponent(password));
    return { address: origin, credential, exceptions: [...own, ...named] };
  } catch {
    throw new Failure('CONFIG_INVALID', `The proxy in the variable ${variable} was no http or https address`, {
      facts: { variable },
      hint: `Correct ${variable}, unset it, or name the hosts of the service in NO_PROXY.`,
    });
  }
}

function credentialOf(user: string, password: string): Secret | null {
  if (user === '' && password === '') return null;
  // Kept from every text in plain form too.
  const plain = new Secret(password).reveal();
  return new Secret(`Basic ${Buffer.from(`${user}:${plain}`).toString('base64')}`);
}
