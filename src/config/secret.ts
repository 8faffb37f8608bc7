/**
 * A credential that prints as `***`, and the scrubbing of text by value.
 *
 * Redaction by path misses messages, stacks and nested fields; so every secret registers its value here, and every
 * sink (terminal, log, ledger, archive) passes its text through `scrub`.
 */

import { inspect } from 'node:util';

/** Shorter values would blank out ordinary words. */
const MIN_SCRUBBED_LENGTH = 6;

/** What follows the scheme in a header's value, `Token token=…`: others may repeat it without the scheme. */
const CREDENTIALS = /^\S+ +(?:\w+=)?"?([^"]*)"?$/;

const scrubbed = new Set<string>();

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    for (const part of [value, CREDENTIALS.exec(value)?.[1] ?? '']) {
      if (part.length < MIN_SCRUBBED_LENGTH) continue;
      scrubbed.add(part);
      scrubbed.add(encodeURIComponent(part));
      scrubbed.add(Buffer.from(part).toString('base64'));
    }
  }

  /** The value itself, for the header of a request and nothing else. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}

/** The text with every known secret (plain, URL-encoded, base64) replaced by `***`. */
export function scrub(text: string): string {
  let clean = text;
  for (const value of scrubbed) clean = clean.replaceAll(value, '***');
  return clean;
}

/** Characters of the longest known secret, 0 without any: text is scrubbed piece by piece with so much overlap. */
export function longestSecret(): number {
  return Math.max(0, ...[...scrubbed].map((value) => value.length));
}
