/** One question to the service, as it goes on the wire. */

import type { SetbackKind } from './setback.ts';

export interface Ask {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Total deadline of one try, headers and body. */
  readonly deadlineMs: number;
  /** Setbacks after which it may be sent once more; a write whose effect is unknown must not be. */
  readonly repeats: 'all' | readonly SetbackKind[];
  /** Most tries when the service is too slow; 1 where a smaller question is the better answer. */
  readonly triesWhenSlow: number;
}

/** What an ask is called in messages: method and path, without the query. */
export function endpointOf(ask: Ask): string {
  return `${ask.method} ${ask.target.split('?', 1)[0] ?? ask.target}`;
}

/**
 * A query string with its question mark, or nothing for no parameters. Values are percent-encoded, `+` and blanks too;
 * comma and colon stay as they are: they are allowed in a query and lists of hundreds of tokens have to stay short.
 */
export function encodeQuery(parameters: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%2C', ',').replaceAll('%3A', ':');
}
