/** The settings of the service → the service as it is called. */

import { resolve } from 'node:path';

import type { HttpService, SimulatorService } from './config.ts';
import { Secret } from './secret.ts';
import {
  simulatorDefaults,
  type HttpSettings,
  type ServiceSettings,
  type SimulatorOptions,
} from './service-settings.ts';

/** The service; `fileToken` is what the token file holds, `base` where relative paths start. */
export function buildService(
  settings: ServiceSettings,
  fileToken: string | null,
  base: string,
): HttpService | SimulatorService {
  if (settings === 'simulator') return buildSimulator(simulatorDefaults());
  return 'simulator' in settings ? buildSimulator(settings.simulator) : buildHttp(settings, fileToken, base);
}

function buildHttp(settings: HttpSettings, fileToken: string | null, base: string): HttpService {
  return {
    kind: 'http',
    baseUrl: settings.base_url,
    reportsUrl: settings.reports_url,
    costUrl: settings.cost_url ?? null,
    token: new Secret(settings.token ?? fileToken ?? ''),
    headers: headersOf(settings.headers),
    costHeaders: secretsOf(settings.cost_headers),
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
