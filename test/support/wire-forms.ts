/** The same JSON document, written in the ways in which services write it. */

import { gzipSync } from 'node:zlib';

import type { Reply, Script } from './scripted-server.ts';

type Written = ReturnType<Script>;

/** Returns a reply in another form; one without a whole document stays as it is. */
const rewritten =
  (change: (document: unknown, reply: Reply) => Written) =>
  (reply: Reply): Written =>
    reply.body === undefined || reply.cutAfter !== undefined
      ? reply
      : change(JSON.parse(String(reply.body)), reply);

const textForm = (write: (document: unknown) => string): ((reply: Reply) => Written) =>
  rewritten((document, reply) => ({ ...reply, body: write(document) }));

/** A document in which every value and every list of members is replaced. */
function mapped(
  value: unknown,
  leaf: (value: unknown) => unknown,
  members: (entries: [string, unknown][]) => [string, unknown][],
): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, leaf, members));
  if (value === null || typeof value !== 'object') return leaf(value);
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => [
    name,
    mapped(item, leaf, members),
  ]);
  return Object.fromEntries(members(entries));
}

const escapesOf = (json: string): string =>
  json.replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_, text: string) => {
    const units = Array.from(String(JSON.parse(`"${text}"`)), (letter) => letter.codePointAt(0));
    return `"${units.map((unit = 0) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
  });

const asNumber = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
const asText = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value);

export const wireForms = {
  indented: textForm((document) => JSON.stringify(document, null, 4)),
  reordered: textForm((document) =>
    JSON.stringify(
      mapped(
        document,
        (value) => value,
        (entries) => entries.toReversed(),
      ),
    ),
  ),
  'numbers as text': textForm((document) =>
    JSON.stringify(mapped(document, asText, (entries) => entries)),
  ),
  'text as numbers': textForm((document) =>
    JSON.stringify(mapped(document, asNumber, (entries) => entries)),
  ),
  escapes: textForm((document) => escapesOf(JSON.stringify(document))),
  'gzip members': rewritten((document, reply) => {
    const bytes = Buffer.from(JSON.stringify(document));
    const half = Math.floor(bytes.length / 2);
    return {
      ...reply,
      headers: { ...reply.headers, 'content-encoding': 'gzip' },
      body: Buffer.concat([gzipSync(bytes.subarray(0, half)), gzipSync(bytes.subarray(half))]),
    };
  }),
  'single bytes': rewritten((document, { status = 200, headers = {} }) => (response) => {
    response.writeHead(status, { ...headers });
    for (const byte of Buffer.from(JSON.stringify(document))) response.write(Buffer.of(byte));
    response.end();
  }),
} satisfies Record<string, (reply: Reply) => Written>;
