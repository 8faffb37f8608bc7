/** Headers of a call: ripen's own, then the configured ones, then those that must not be overridden. */

import type { Secret } from '../config/secret.ts';
import { version } from '../version.ts';

type Headers = Readonly<Record<string, string>>;

/** A kept answer would be taken for what the service says now, and its numbers for final. */
const FRESH = { 'cache-control': 'no-cache' };

/** Header values by lower-case name; later layers win. */
export function requestHeaders(...layers: readonly Readonly<Record<string, Secret | string>>[]): Headers {
  const headers: Record<string, string> = { 'user-agent': `ripen/${version}`, accept: 'application/json', ...FRESH };
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer)) {
      headers[name.toLowerCase()] = typeof value === 'string' ? value : value.reveal();
    }
  }
  // What is decoded is gzip and nothing else.
  headers['accept-encoding'] = 'gzip';
  return headers;
}
