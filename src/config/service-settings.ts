/** The settings of the service: where it is, how to be let in, how hard to press; or the bundled simulator. */

import * as z from 'zod';

import { MS_PER_DAY } from '../model/calendar.ts';
import { MAX_URL_BYTES } from '../model/slice.ts';
import { block } from './config-problems.ts';
import { byteSize, duration, instant, text, webAddress, wholeNumber } from './setting-kinds.ts';

/** service-interface, Limits: more than 50 simultaneous requests are answered 429. */
const MAX_SIMULTANEOUS = 50;

const MS_PER_SECOND = 1000;

const serviceUrl = webAddress({
  allowed: 'must be an address such as https://reports.example.com',
  shown: 'the token',
  credentials: 'holds credentials; must not, they belong in token or headers',
});

const token = z.string().refine((value) => /^[\x21-\x7e]+$/.test(value), {
  error: 'is empty or holds whitespace, control or non-ASCII characters; must be the token alone',
});

/** Headers that would break the connection, or are a credential of the service or of a proxy, which its address holds. */
const ownHeaders = [
  'proxy-authorization',
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
];

const A_HEADER = 'must be text, or {secret: …} for what must not be shown';

const headerValue = z.union([text, z.number()], { error: 'must be text' }).transform(String);

const headersExcept = (refused: readonly string[]) =>
  z
    .record(
      z
        .string()
        .refine((name) => /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name), {
          error: 'is not a header name; must be a token',
        })
        .refine((name) => !refused.includes(name.toLowerCase()), {
          error: `is a header ripen sets itself; must not be ${refused.join(', ')}`,
        }),
      z
        .union([text, z.number(), block({ secret: headerValue.describe('A value that is shown nowhere.') })], {
          error: A_HEADER,
        })
        .transform((stated) => (typeof stated === 'object' ? stated : String(stated))),
    )
    .superRefine((headers, context) => {
      const names = Object.keys(headers);
      for (const [index, name] of names.entries()) {
        const isRepeated = names.slice(0, index).some((before) => before.toLowerCase() === name.toLowerCase());
        const message = 'is a header that is stated twice; letter case does not tell headers apart';
        if (isRepeated) context.addIssue({ code: 'custom', path: [name], message });
      }
    });

/** Below it little but the other parameters of a report would fit. */
const LEAST_URL_BYTES = 1000;

/** The real service. Either `token` or `token_file` is stated; that is checked apart. */
export const httpSettings = block({
  base_url: serviceUrl.describe('Campaign API: partners and links.'),
  reports_url: serviceUrl.describe('Reports and filters-data.'),
  cost_url: serviceUrl.optional().describe('Ad spend; needed by `ripen spend send` only.'),
  token: token.optional().describe('The API token; take it from the environment: ${RIPEN_TOKEN}.'),
  token_file: text.optional().describe('A file that holds the API token and nothing else; instead of token.'),
  headers: headersExcept([...ownHeaders, 'authorization'])
    .optional()
    .describe('Extra headers on every call, such as an account selector; {secret: …} for a value that is one.'),
  cost_headers: headersExcept(ownHeaders).optional().describe("The ad spend API's credential, whatever its form."),
  ca_file: text.optional().describe('PEM file with an authority to trust besides the usual ones.'),
  max_concurrency: wholeNumber(1, MAX_SIMULTANEOUS)
    .default(MAX_SIMULTANEOUS)
    .describe('Simultaneous report and filters-data calls, 1 to 50.'),
  max_starts_per_second: wholeNumber(1).default(50).describe('Calls started in a second, in bursts of twice as many.'),
  campaign_concurrency: wholeNumber(1).default(8).describe('Simultaneous campaign API calls.'),
  request_timeout: duration
    .refine((ms) => ms >= MS_PER_SECOND && ms <= MS_PER_DAY, { error: 'is out of range; must be 1s to 1d' })
    .prefault('1000s')
    .describe('Deadline of one call, headers and body. 1000s, as large reports take minutes.'),
  max_response_bytes: byteSize
    .prefault('2GiB')
    .describe('Most bytes of one answer after decompression, such as 500MB. 2GiB.'),
  max_url_bytes: wholeNumber(LEAST_URL_BYTES)
    .default(MAX_URL_BYTES)
    .describe('Longest address of a request; metrics that do not fit are requested in batches. 8000.'),
});

export const simulatorOptions = block({
  seed: wholeNumber(0).default(1).describe('What world is simulated; the same seed gives the same world.'),
  now: instant.optional().describe('The simulated instant; the as-of instant unless set.'),
  apps: wholeNumber(1).default(3).describe('Simulated apps.'),
  partners: wholeNumber(1).default(12).describe('Simulated partners.'),
  links: wholeNumber(0).default(120).describe('Simulated links.'),
  rows_per_day: wholeNumber(1).default(200).describe('Rows of a detailed report for one day.'),
  max_concurrency: wholeNumber(1, MAX_SIMULTANEOUS).default(MAX_SIMULTANEOUS).describe('Simultaneous calls, 1 to 50.'),
});

const simulatorSettings = block({ simulator: simulatorOptions.describe('The bundled simulator, as set up.') });

export const serviceSettings = z.union([z.literal('simulator'), simulatorSettings, httpSettings], {
  error: 'must be simulator or a mapping of settings such as base_url, reports_url and token',
});

export type StatedSimulator = z.output<typeof simulatorOptions>;
export type HttpSettings = z.output<typeof httpSettings>;
export type ServiceSettings = z.output<typeof serviceSettings>;
