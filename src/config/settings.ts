/** Every setting of `ripen.yaml`: the one home of their names, kinds, defaults and descriptions. */

import * as z from 'zod';

import { parseDuration } from '../model/duration.ts';
import { block } from './config-problems.ts';
import { outcomes } from './config.ts';
import { localPath, publishTarget } from './publish-settings.ts';
import { serviceSettings } from './service-settings.ts';
import { choice, duration, text, understood, webAddress, wholeNumber } from './setting-kinds.ts';
import { defaultsSettings, sliceSettings } from './slice-settings.ts';

/** observed, app_token: 12 characters by rule, 10 in some examples. */
const appToken = z.string().regex(/^(?:[A-Za-z0-9]{12}|[A-Za-z0-9]{10})$/, {
  error: 'is not an app token; must be 12 letters and digits, in quotes when it reads as a number',
});

/** 1 network, 2 campaign, 3 ad group, 4 creative (service-interface: Link). */
const MAX_LEVEL = 4;

const APPS = 'must be all or a list of app tokens';

export const linksSettings = block({
  apps: z
    .union([z.literal('all'), z.array(appToken).min(1)], { error: APPS })
    .default('all')
    .describe('all, or a list of app tokens.'),
  every: duration.optional().describe('Least time between two crawls of an app, such as 7d; each night.'),
  max_level: wholeNumber(1, MAX_LEVEL).default(MAX_LEVEL).describe('1 network, 2 campaign, 3 ad group, 4 creative.'),
});

/** Who is told of a run's end. The address is a credential: who knows it can write there. */
export const notified = block({
  url: webAddress({
    allowed: 'must be an address such as https://hc-ping.com/your-uuid',
    shown: 'it',
    credentials: 'holds a user or a password; must be an address without',
    mayHaveQuery: true,
  }).describe('Sent a POST of {"text": …}, as healthchecks.io and Slack take it; never shown.'),
  on: z
    .array(choice(outcomes))
    .min(1)
    .default(['failed', 'recovered'])
    .describe('Of which ends: succeeded, failed, recovered. [failed, recovered].'),
});

/** More would be a second nightly job. */
const MOST_AUDITS = 100;

const archiveAge = understood(
  (value) => (value === 'off' ? value : parseDuration(value)),
  'is neither off nor a duration',
  'must be off, or a number and a unit s, m, h or d, such as 30d',
  /^(off|\d+(\.\d+)?[smhd])$/,
);

export const settings = block({
  name: text.optional().describe('The name of the account, where several are read as one.'),
  service: serviceSettings.describe('Where the data comes from; simulator for the bundled one.'),
  warehouse: localPath.default('data/warehouse.duckdb').describe("ripen's own DuckDB file; paths start at this file."),
  publish: z.array(publishTarget).default([]).describe('Copies for readers, any number of them.'),
  archive: archiveAge.prefault('off').describe('How long raw answers are kept for replay, such as 30d. off.'),
  audit: wholeNumber(0, MOST_AUDITS)
    .default(1)
    .describe(
      'Periods with final cells drawn at random each night and fetched again, to measure that final is final; 0 for none.',
    ),
  notify: z
    .union([notified.transform((one) => [one]), z.array(notified)], {
      error: 'must be a mapping of url and on, or a list of them',
    })
    .default([])
    .describe('Who is told of the end of a sync or backfill; nobody.'),
  partners: z.boolean().default(true).describe('Whether the partner list is loaded.'),
  links: z
    .union([z.literal(false), linksSettings], { error: 'must be false or a mapping of apps, every and max_level' })
    .default(false)
    .describe('Which links are crawled; false for none.'),
  defaults: defaultsSettings.optional().describe('What every slice takes over unless it states otherwise.'),
  slices: z.array(sliceSettings).default([]).describe('The declared reports, one table each.'),
});

export type Settings = z.output<typeof settings>;
