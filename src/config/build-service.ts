/** The settings of the service → the service as it is called. */

import { resolve } from 'node:path';

import type { HttpService, SimulatorService } from './config.ts';
import type { Environment } from './environment-variables.ts';
import { proxyOf } from './proxy.ts';
import { Secret } from './secret.ts';
import {
  simulatorDefaults,
  type HttpSettings,
  type ServiceSettings,
  type SimulatorOptions,
} from './service-settings.ts';

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
