/** A first configuration: `ripen.yaml` with a comment on every setting, and the files beside it. */

import { lstatSync } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { Failure } from '../errors.ts';
import { accountConfigText, type AccountOptions } from './account-config.ts';
import { codeOf, makeDirectory, removeIfEmpty } from '../publish/replacement.ts';

export interface InitOptions {
  /** Absolute; made where it is not there. */
  readonly directory: string;
  /** For the bundled simulator, which needs no account. */
  readonly simulator?: boolean;
  /** For an account, whose filters-data is requested; its configuration then names what it lists. */
  readonly account?: AccountOptions;
  /** The rights of the files; 0o644 by default. */
  readonly mode?: number;
}

export interface FirstFiles {
  readonly written: readonly string[];
  /** What the `.gitignore` that was there should name as well; null where none was. */
  readonly toIgnore: readonly string[] | null;
}

/** Beside `ripen.yaml`, so that editors find it without a network. */
const SCHEMA_FILE = 'ripen.schema.json';

const realService = `service:
  base_url: https://campaign.example.com    # campaign API: partners and links
  reports_url: https://reports.example.com  # reports and filters-data
  token: \${RIPEN_TOKEN}                     # or token_file: /run/secrets/ripen-token
`;

const simulatedService = `service: simulator                          # comes with ripen: no account, no network
# Your own service, in its place:
${realService.replaceAll(/^(?=.)/gm, '# ')}`;

/** The configuration for an account, or for the simulator, which needs none. */
const configText = (isSimulated: boolean): string => `# yaml-language-server: $schema=./${SCHEMA_FILE}
#
# Configuration of ripen. \${NAME} and \${NAME:-default} come from the environment. Paths start at this file's directory.
# Next: ${isSimulated ? '' : 'copy .env.example to .env and fill it in, then '}\`npx ripen check\`, then \`npx ripen sync\`.

${isSimulated ? simulatedService : realService}
warehouse: data/warehouse.duckdb            # ripen's own file; readers get the copies below

publish:                                    # any number, in any combination
  - duckdb: analytics/analytics.duckdb      # one file, replaced atomically
  - delta: analytics/tables                 # Delta tables: a night at a time for Spark, ClickHouse, Power BI …; or s3://

partners: true
links: { apps: all, max_level: 4 }          # apps: all or a list of tokens; max_level 1 network … 4 creative

defaults:                                   # for every slice; any report parameter can be set here or in a slice
  utc_offset: "+00:00"
  currency: USD
  attribution_type: all
  reattributed: all                         # leaving it out doubles some reports against the dashboard

slices:                                     # one table each
  - name: network_daily
    dimensions: [day, app_token, app, partner_id, partner_name, network, os_name, country_code]
    metrics: [installs, clicks, impressions, cost, all_revenue_total_d7, all_revenue_total_d30]
    date_period: -60d:yesterday             # both ends inclusive; an ISO date, today, yesterday, month_start or -Nd
    # filters: { os_name__in: [ios, android], installs__gte: 1 }
    refresh: milestones                     # or nightly, or ages in days such as [1, 2, 7, 30]
    # completeness: warn                    # loads a window that is not proven complete; it fails otherwise
    # retain: 800d                          # lets older periods go; all are kept otherwise
`;

const environmentText = `# Copy to .env beside ripen.yaml, fill in, keep out of version control. ripen reads .env for what the environment lacks.
RIPEN_TOKEN=
`;

const ignoredText = `# What ripen writes, and what nobody else is to read.
.env
data/
analytics/
`;

/** The schema as it is checked in, from `src/start/`, `dist/start/` and `dist/bundle/` alike. */
const schema = new URL(`../../config/${SCHEMA_FILE}`, import.meta.url);

const IGNORED = '.gitignore';
const USUAL_MODE = 0o644;

/**
 * Writes the files, or, when one of them exists, none: `USAGE_INVALID` naming every one that does. A `.gitignore` that is
 * there stays as it is. Throws `STORAGE_FAILED`, with nothing left of what it wrote.
 */
export async function writeFirstFiles(options: InitOptions): Promise<FirstFiles> {
  const { directory, simulator = false, mode = USUAL_MODE } = options;
  const keepsIgnored = isThere(join(directory, IGNORED));
  const texts: readonly (readonly [string, string])[] = [
    ['ripen.yaml', ''],
    ['.env.example', environmentText],
    [SCHEMA_FILE, await readFile(schema, 'utf8')],
    ...(keepsIgnored ? [] : ([[IGNORED, ignoredText]] as const)),
  ];
  refuseExisting(texts.map(([name]) => join(directory, name)).filter(isThere));
  const config = options.account === undefined ? configText(simulator) : await accountConfigText(options.account);
  const files = texts.map(([name, text]) => ({
    path: join(directory, name),
    text: name === 'ripen.yaml' ? config : text,
  }));
  const folders = missingFolders(directory);
  const made: string[] = [];
  try {
    await makeDirectory(directory, mode);
    for (const { path, text } of files) {
      // `wx`, for a file that appeared since: it is not overwritten either.
      const file = await open(path, 'wx', mode);
      made.push(path);
      try {
        await file.writeFile(text);
        await file.chmod(mode);
      } finally {
        await file.close();
      }
    }
  } catch (cause) {
    for (const path of made) await rm(path, { force: true }).catch(() => null);
    for (const folder of folders) await removeIfEmpty(folder).catch(() => null);
    throw new Failure('STORAGE_FAILED', `The configuration could not be written to ${directory}: ${String(cause)}`, {
      hint: hints.get(codeOf(cause)) ?? 'Choose a directory that you may write to.',
      cause,
    });
  }
  return { written: files.map(({ path }) => path), toIgnore: keepsIgnored ? ignoredNames : null };
}

/** What to do about what kept the files from being written; nothing of them is left then. */
const hints: ReadonlyMap<string | null, string> = new Map([
  ['ENOSPC', 'Free space on this disk, or choose a directory on another.'],
  ['EDQUOT', 'Free space of your quota, or choose a directory on another disk.'],
  ['EEXIST', 'Move away what lies there, or choose another directory.'],
  ['ENOTDIR', 'Choose a directory: a file lies in the place of one.'],
]);

/** Whether something lies there, also a link that leads nowhere; where nobody may look, writing fails with its reason. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** The directory and those above it that are not there yet, the innermost first. */
function missingFolders(directory: string): string[] {
  return isThere(directory) ? [] : [directory, ...missingFolders(dirname(directory))];
}

const ignoredNames = ignoredText.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

function refuseExisting(existing: readonly string[]): void {
  if (existing.length === 0) return;
  throw new Failure('USAGE_INVALID', `Nothing was written, as this existed already: ${existing.join(', ')}`, {
    hint: 'Give `ripen init` another directory, or move these files away.',
  });
}
