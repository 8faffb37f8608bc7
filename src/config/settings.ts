/** Every setting of `ripen.yaml`: the only place of its name, kind, default and description. */

import * as z from 'zod';

import { MS_PER_DAY, parseDay } from '../model/calendar.ts';
import { parseDuration } from '../model/duration.ts';
import { MAX_LEVEL } from '../model/link.ts';
import { MAX_URL_BYTES } from '../model/slice.ts';
import { block } from './config-problems.ts';
import { localPath, publishTarget } from './publish-settings.ts';
import { Secret } from './secret.ts';
import {
  byteSize,
  duration,
  hidden,
  instant,
  MAX_DAYS,
  text,
  TOO_LONG,
  parsedText,
  webAddress,
  wholeNumber,
} from './setting-kinds.ts';
import { defaultsSettings, sliceSettings } from './slice-settings.ts';

/** service-interface, Limits. */
const MAX_SIMULTANEOUS = 50;

const simultaneous = wholeNumber(1, MAX_SIMULTANEOUS).default(MAX_SIMULTANEOUS);

const serviceUrl = webAddress();

const token = hidden(
  z.string().regex(/^[\x21-\x7e]+$/, {
    error: 'is empty or holds whitespace, control or non-ASCII characters; must be the token alone',
  }),
);

/** They would break the connection, or belong in the proxy's address. */
const ownHeaders = [
  'proxy-authorization',
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
];

const plainHeader = z.union([text, z.number()], { error: 'must be text' }).transform(String);
const secretHeader = block({
  secret: hidden(plainHeader).describe('A value that is shown nowhere.'),
}).transform(({ secret }) => new Secret(secret));

function headersExcept<T extends z.ZodType>(refused: readonly string[], plain: T) {
  const name = z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: 'is not a header name; must be a token' })
    .refine((header) => !refused.includes(header.toLowerCase()), {
      error: `is a header ripen sets itself; must not be ${refused.join(', ')}`,
    });
  const value = z.union([plain, secretHeader], {
    error: 'must be text, or {secret: …} for what must not be shown',
  });
  return z.record(name, value);
}

/** Shorter ones have little room besides the other parameters of a report. */
const MIN_URL_BYTES = 1000;

/** `setting-checks.ts` checks that either `token` or `token_file` is stated. */
const httpSettings = block({
  base_url: serviceUrl.describe('Campaign API: partners and links.'),
  reports_url: serviceUrl.describe('Reports and filters-data.'),
  cost_url: serviceUrl.optional().describe('Ad spend; needed by `ripen spend send` only.'),
  token: token.optional().describe('The API token; take it from the environment: ${RIPEN_TOKEN}.'),
  token_file: text
    .optional()
    .describe('A file that holds the API token and nothing else; instead of token.'),
  headers: headersExcept([...ownHeaders, 'authorization'], plainHeader)
    .optional()
    .describe(
      'Extra headers on every call, such as an account selector; {secret: …} for a value that is one.',
    ),
  cost_headers: headersExcept(
    ownHeaders,
    hidden(plainHeader).transform((value) => new Secret(value)),
  )
    .optional()
    .describe("The ad spend API's credential, whatever its form."),
  ca_file: text.optional().describe('PEM file with an additional certificate authority.'),
  max_concurrency: simultaneous.describe('Simultaneous report and filters-data calls, 1 to 50.'),
  max_starts_per_second: wholeNumber(1)
    .default(50)
    .describe('Calls started per second; bursts may be twice as large.'),
  campaign_concurrency: wholeNumber(1).default(8).describe('Simultaneous campaign API calls.'),
  request_timeout: duration
    .refine((ms) => ms >= 1000 && ms <= MS_PER_DAY, { error: 'is out of range; must be 1s to 1d' })
    .prefault('1000s')
    .describe('Time limit of one request, body included; large reports take minutes.'),
  max_response_bytes: byteSize
    .prefault('2GiB')
    .describe('Maximum size of one response, decompressed, such as 500MB.'),
  max_url_bytes: wholeNumber(MIN_URL_BYTES)
    .default(MAX_URL_BYTES)
    .describe('Longest address of a request; metrics that do not fit are requested in batches.'),
});

const incidents = z
  .record(
    z.string().refine((name) => parseDay(name) !== null, {
      error: 'is not a date; must be a day such as 2026-03-01',
    }),
    instant,
  )
  .prefault({});

const simulator = block({
  seed: wholeNumber(0).default(1).describe('The same seed gives the same account and numbers.'),
  now: instant.optional().describe('The simulated instant; the as-of instant unless set.'),
  apps: wholeNumber(1).default(3).describe('Simulated apps.'),
  partners: wholeNumber(1).default(12).describe('Simulated partners.'),
  links: wholeNumber(0).default(120).describe('Simulated links.'),
  rows_per_day: wholeNumber(1).default(200).describe('Rows of a detailed report for one day.'),
  max_concurrency: simultaneous.describe('Simultaneous calls, 1 to 50.'),
  late_days: incidents.describe('Days most of whose rows appear only at an instant.'),
  corrected_days: incidents.describe('Days some of whose rows vanish at an instant, final or not.'),
}).transform(
  ({ now = null, rows_per_day, max_concurrency, late_days, corrected_days, ...same }) => ({
    kind: 'simulator' as const,
    ...same,
    now,
    rowsPerDay: rows_per_day,
    maxConcurrency: max_concurrency,
    lateDays: late_days,
    correctedDays: corrected_days,
  }),
);

const serviceSettings = z.union(
  [
    z.literal('simulator').transform(() => simulator.parse({})),
    httpSettings,
    block({
      simulator: simulator.describe('The bundled simulator with these settings.'),
    }).transform((stated) => stated.simulator),
  ],
  { error: 'must be simulator or a mapping of settings such as base_url, reports_url and token' },
);

/** observed, app_token: 12 characters by rule, 10 in some examples. */
const APP_TOKEN = /^(?:[A-Za-z0-9]{12}|[A-Za-z0-9]{10})$/;

const appToken = z.string().regex(APP_TOKEN, {
  error: 'is not an app token; must be 12 letters and digits, in quotes when it reads as a number',
});

const linksSettings = block({
  apps: z
    .union([z.literal('all'), z.array(appToken).min(1)], {
      error: 'must be all or a list of app tokens',
    })
    .default('all')
    .describe('all, or a list of app tokens.'),
  every: duration
    .prefault('7d')
    .describe('Minimum time between two crawls of an app, unless rows name an unknown link.'),
  max_level: wholeNumber(1, MAX_LEVEL)
    .default(MAX_LEVEL)
    .describe('1 network, 2 campaign, 3 ad group, 4 creative.'),
}).transform(({ apps, every: everyMs, max_level: maxLevel }) => ({ apps, maxLevel, everyMs }));

/** The address is a credential: anyone who knows it can post there. */
const notified = block({
  url: hidden(webAddress(true)).describe(
    'Sent a POST of {"text": …}, as healthchecks.io and Slack take it; never shown.',
  ),
  on: z
    // `recovered`: the run succeeded after one that did not.
    .array(z.enum(['succeeded', 'failed', 'recovered']))
    .min(1)
    .default(['failed', 'recovered'])
    .describe('Which ends to report: succeeded, failed, recovered.'),
});

const audit = block({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/, {
      error: 'is not a name; must be lower case letters, digits and _, and begin with a letter',
    })
    .describe('Its name in messages.'),
  // Of several lines.
  sql: z
    .string()
    .regex(/\S/, { error: 'is empty; must be a query in SQL' })
    .describe(
      'A query that must return no row. Its tables are named as in a published DuckDB file.',
    ),
  on_fail: z
    .enum(['warn', 'hold'])
    .default('warn')
    .describe('warn: publish all the same; hold: readers keep the last good night.'),
}).transform(({ on_fail: onFail, ...question }) => ({ ...question, onFail }));

const ageOrOff = parsedText(
  (value) => (value === 'off' ? value : parseDuration(value)),
  'is not off or a duration',
  'must be off, or a number and a unit s, m, h or d, such as 30d',
  /^(off|\d+(\.\d+)?[smhd])$/,
)
  .refine((age) => age === 'off' || age <= MAX_DAYS * MS_PER_DAY, { error: TOO_LONG })
  .transform((age) => (age === 'off' ? null : age));

export const settings = block({
  name: text.optional().describe('The name of the account, if several are read as one.'),
  service: serviceSettings.describe('Where the data comes from; simulator for the bundled one.'),
  warehouse: localPath
    .default('data/warehouse.duckdb')
    .describe("ripen's own DuckDB file; paths are relative to this configuration."),
  publish: z.array(publishTarget).prefault([]).describe('Copies for readers, any number of them.'),
  archive: ageOrOff
    .prefault('off')
    .describe('How long raw responses are kept for replay, such as 30d; or off.'),
  control: ageOrOff
    .prefault('400d')
    .describe(
      'How far back final periods are compared each night with the totals of the service; or off.',
    ),
  notify: z
    .union([notified.transform((one) => [one]), z.array(notified)], {
      error: 'must be a mapping of url and on, or a list of them',
    })
    .prefault([])
    .describe('Addresses to notify when a sync or backfill ends.'),
  audits: z
    .array(audit)
    .prefault([])
    .describe('Queries of each loaded night that must return no row, run before it is published.'),
  partners: z.boolean().default(true).describe('Whether the partner list is loaded.'),
  links: z
    .union([z.literal(false).transform(() => null), linksSettings], {
      error: 'must be false or a mapping of apps, every and max_level',
    })
    .prefault(false)
    .describe('Which links are crawled; false for none.'),
  defaults: defaultsSettings.optional().describe('Defaults for every slice.'),
  slices: z.array(sliceSettings).prefault([]).describe('The declared reports, one table each.'),
});

export type Settings = z.output<typeof settings>;
