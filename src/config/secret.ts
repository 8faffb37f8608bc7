/**
 * Credentials that print as `***`, and the scrubbing of text by value. Redaction by path misses messages, stacks and nested
 * fields, so each secret registers its value here. Data is never scrubbed: rows and lists that contain a secret are refused.
 */

import { inspect } from 'node:util';

/** Scrubbing shorter values would blank out ordinary words. */
const MIN_SCRUBBED_LENGTH = 6;

/** Captures what follows the scheme in `Token token=…`, as it may be echoed alone. */
const CREDENTIALS = /^\S+ +(?:\w+=)?"?([^"]*)"?$/;

const BITS_PER_BYTE = 8;
const BITS_PER_DIGIT = 6;

/** Shorter parts of a secret occur in words. */
const ECHO_LENGTH = 8;

const allForms = new Set<string>();
/** Every part of that length of every form, in lower case. */
const parts = new Set<string>();
let pattern: RegExp | null = null;

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    const count = allForms.size;
    for (const form of formsOf(value)) allForms.add(form);
    if (allForms.size > count) {
      // Longest first: if a form inside another were replaced first, the rest of the other would remain.
      const literals = [...allForms]
        .sort((one, other) => other.length - one.length)
        .map((form) => form.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`));
      pattern = new RegExp(literals.join('|'), 'g');
    }
    // Neither the scheme before a credential in a header, nor the scheme and host of an address, is secret.
    const [, credential = value] = /^(?:https?:\/\/[^/]*|\S+ +(?:\w+=)?)(.*)$/s.exec(value) ?? [];
    for (const form of formsOf(credential).map(lowerCase)) {
      for (let at = 0; at + ECHO_LENGTH <= form.length; at += 1)
        parts.add(form.slice(at, at + ECHO_LENGTH));
    }
  }

  /** For the wire alone: must not be printed or stored. */
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

/** Replaces secrets by `***`: plain, URL-encoded, JSON-escaped, base64 or inside longer base64. */
export const scrub = (text: string): string =>
  pattern === null ? text : text.replaceAll(pattern, '***');

/** Also scrubs parts of secrets, in any letter case. */
export function scrubEcho(text: string): string {
  const clean = scrub(text);
  const lower = lowerCase(clean);
  let [scrubbed, from, echoEnd] = ['', 0, 0];
  for (let at = 0; at + ECHO_LENGTH <= lower.length; at += 1) {
    if (!parts.has(lower.slice(at, at + ECHO_LENGTH))) continue;
    if (at > echoEnd || echoEnd === 0) scrubbed += `${clean.slice(from, at)}***`;
    echoEnd = at + ECHO_LENGTH;
    from = echoEnd;
  }
  return scrubbed + clean.slice(from);
}

/** Changes only ASCII: some other letters become longer in the other case. */
const lowerCase = (text: string) => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Half surrogate pairs are replaced, as DuckDB refuses them. */
export function scrubbedJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'string' ? scrub(inner).toWellFormed() : inner,
  );
}

/** A shorter password may be a word of the data. */
const MIN_REFUSED_LENGTH = 12;

/** Returns the forms by which data that contains a secret is refused. None contains another. */
export function secretForms(): readonly string[] {
  const forms = [...allForms].filter(({ length }) => length >= MIN_REFUSED_LENGTH);
  return forms.filter((form) => !forms.some((other) => other !== form && form.includes(other)));
}

function formsOf(value: string) {
  return [value, CREDENTIALS.exec(value)?.[1] ?? '']
    .filter(({ length }) => length >= MIN_SCRUBBED_LENGTH)
    .flatMap((part) => {
      const inUrl = encodeURIComponent(part);
      const inLowerCase = inUrl.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase());
      const inForm = new URLSearchParams([['', part]]).toString().slice(1);
      const inJson = JSON.stringify(part).slice(1, -1);
      const withSlashes = inJson.replaceAll('/', String.raw`\/`);
      return [part, inUrl, inLowerCase, inForm, inJson, withSlashes].concat(base64Forms(part));
    });
}

/** The base64 of a text, and the digits it determines after other bytes, such as a user's name. */
function base64Forms(text: string) {
  const inside = [0, 1, 2].map((bytesBefore) => {
    const bytes = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(text)]);
    const first = Math.ceil((bytesBefore * BITS_PER_BYTE) / BITS_PER_DIGIT);
    const end = Math.floor((bytes.length * BITS_PER_BYTE) / BITS_PER_DIGIT);
    return bytes.toString('base64').slice(first, end);
  });
  const alone = Buffer.from(text).toString('base64');
  return [alone, alone.replace(/=+$/, ''), ...inside].flatMap((form) => [
    form,
    form.replaceAll('+', '-').replaceAll('/', '_'),
  ]);
}
