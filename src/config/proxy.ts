/** The forward proxy that the environment names, as the usual variables do: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. */

import { Failure } from '../errors.ts';
import type { Environment } from './variables.ts';
import { Secret } from './secret.ts';
import { isLoopback } from './setting-kinds.ts';

/** What connections to other machines go through. */
export interface Proxy {
  /** An origin of http or https. */
  readonly address: string;
  /** Its `Proxy-Authorization`; null when it wants none. */
  readonly credential: Secret | null;
  /** Hosts that are reached without it, as NO_PROXY writes them. */
  readonly exceptions: readonly string[];
}

/** A plain request leaves this machine never, so the variable for plain http only stands in for the other. */
const VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'] as const;

/**
 * The proxy for these addresses; null where the environment names none, or none of them is to go through it. This
 * machine is reached directly, as no proxy could do. Throws `CONFIG_INVALID` for a proxy that is no http or https URL.
 */
export function proxyOf(environment: Environment, addresses: readonly string[]): Proxy | null {
  const variable = namedIn(environment);
  const named = (environment['no_proxy'] ?? environment['NO_PROXY'] ?? '')
    .split(/[\s,]+/)
    .filter((host) => host !== '');
  const own = addresses.map((address) => new URL(address).hostname).filter(isLoopback);
  if (variable === null || named.includes('*') || own.length === addresses.length) return null;
  const url = urlOf(environment[variable]?.trim() ?? '');
  if (url === null) {
    throw new Failure('CONFIG_INVALID', `The proxy in the variable ${variable} was no http or https address`, {
      facts: { variable },
      hint: `Correct ${variable}, unset it, or name the hosts of the service in NO_PROXY.`,
    });
  }
  return { address: url.origin, credential: credentialOf(url), exceptions: [...own, ...named] };
}

const namedIn = (environment: Environment): (typeof VARIABLES)[number] | null =>
  VARIABLES.find((name) => (environment[name] ?? '').trim() !== '') ?? null;

/** A host and port alone mean http, as they do elsewhere. */
function urlOf(text: string): URL | null {
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  return url !== null && /^https?:$/.test(url.protocol) && isDecodable(url.username + url.password) ? url : null;
}

const isDecodable = (text: string): boolean => !/%(?![\da-f]{2})/i.test(text);

function credentialOf({ username, password }: URL): Secret | null {
  if (username === '' && password === '') return null;
  // Kept from every text in plain form too.
  const plain = new Secret(decodeURIComponent(password)).reveal();
  return new Secret(`Basic ${Buffer.from(`${decodeURIComponent(username)}:${plain}`).toString('base64')}`);
}
