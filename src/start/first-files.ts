/** A first configuration: `ripen.yaml` with a comment on every setting, and the files beside it. */

import { lstatSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Failure } from '../errors.ts';
import { accountConfigText, type AccountOptions } from './account-config.ts';
import { makeDirectory } from '../publish/replacement.ts';

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
}

/** Beside `ripen.yaml`, so that editors find it without a network. */
const SCHEMA_FILE = 'ripen.schema.json';

const environmentText = `# Copy to .env beside ripen.yaml, fill in, keep out of version control. ripen reads .env for what the environment lacks.
RIPEN_TOKEN=
`;

const ignoredText = `# What ripen writes, and what nobody else is to read.
.env
data/
analytics/
`;

/** A file as it is checked in, from `src/start/`, `dist/start/` and `dist/bundle/` alike. */
const bundled = async (name: string): Promise<string> =>
  readFile(new URL(`../../config/${name}`, import.meta.url), 'utf8');

/** The configuration for a service of one's own, or for the simulator, which needs no account. */
async function firstConfig(isSimulated: boolean): Promise<string> {
  const text = await bundled('first.yaml');
  if (!isSimulated) return text;
  return text
    .replace('copy .env.example to .env and fill it in, then ', '')
    .replace(/^service:\n(?: .*\n)+/m, 'service: simulator # comes with ripen: no account, no network\n');
}

const IGNORED = '.gitignore';
const USUAL_MODE = 0o644;

/** Writes the files, and a `.gitignore` unless there is one; none of them when one exists: `USAGE_INVALID` names every one that does. Throws `STORAGE_FAILED`. */
export async function writeFirstFiles(options: InitOptions): Promise<FirstFiles> {
  const { directory, simulator = false, account, mode = USUAL_MODE } = options;
  const pathOf = (name: string): string => join(directory, name);
  refuseExisting(['ripen.yaml', '.env.example', SCHEMA_FILE].map(pathOf).filter(isThere));
  const texts = new Map([
    ['ripen.yaml', account === undefined ? await firstConfig(simulator) : await accountConfigText(account)],
    ['.env.example', environmentText],
    [SCHEMA_FILE, await bundled(SCHEMA_FILE)],
  ]);
  if (!isThere(pathOf(IGNORED))) texts.set(IGNORED, ignoredText);
  try {
    await makeDirectory(directory, mode);
    for (const [name, text] of texts) {
      // `wx`, for a file that appeared since: it is not overwritten either.
      await writeFile(pathOf(name), text, { flag: 'wx', mode });
      await chmod(pathOf(name), mode);
    }
  } catch (cause) {
    throw new Failure('STORAGE_FAILED', `The configuration could not be written to ${directory}: ${String(cause)}`, {
      hint: 'Choose a directory that you may write to, on a disk with free space.',
      cause,
    });
  }
  return { written: [...texts.keys()].map(pathOf) };
}

/** Whether something lies there, also a link that leads nowhere; where nobody may look, writing fails with its reason. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function refuseExisting(existing: readonly string[]): void {
  if (existing.length === 0) return;
  throw new Failure('USAGE_INVALID', `Nothing was written, as this existed already: ${existing.join(', ')}`, {
    hint: 'Give `ripen init` another directory, or move these files away.',
  });
}
