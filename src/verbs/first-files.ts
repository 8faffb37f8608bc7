/** Writes a first configuration. */

import { lstatSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Failure } from '../errors.ts';
import { accountConfigText, type AccountOptions } from './account-config.ts';
import { makeDirectory } from '../publish/places/replacement.ts';

export interface InitOptions {
  readonly directory: string;
  readonly simulator?: boolean;
  /** Configures what the filters-data of an account lists. */
  readonly account?: AccountOptions;
  /** Permissions of the files (default: 0o644). */
  readonly mode?: number;
}

export interface FirstFiles {
  readonly written: readonly string[];
}

/** Beside `ripen.yaml`, so that editors need no network to find it. */
const SCHEMA_FILE = 'ripen.schema.json';

const environmentText = `# Copy to .env beside ripen.yaml, fill in, keep out of version control. ripen reads .env for variables that the environment lacks.
RIPEN_TOKEN=
`;

const ignoredText = `# Secrets, and files that ripen writes.
.env
data/
analytics/
`;

/** The path is the same from `src/verbs/` and `dist/bundle/`. */
const bundled = async (name: string) =>
  readFile(new URL(`../../config/${name}`, import.meta.url), 'utf8');

export async function writeFirstFiles(options: InitOptions): Promise<FirstFiles> {
  const { directory, simulator = false, account, mode = 0o644 } = options;
  const pathOf = (name: string) => join(directory, name);
  const existing = ['ripen.yaml', '.env.example', SCHEMA_FILE].map(pathOf).filter(isThere);
  if (existing.length > 0) {
    const message = `Nothing was written, because these files already exist: ${existing.join(', ')}`;
    throw new Failure('USAGE_INVALID', message, {
      hint: 'Run `ripen init` in another directory, or move these files away.',
    });
  }
  let config =
    account === undefined ? await bundled('first.yaml') : await accountConfigText(account);
  if (simulator && account === undefined)
    config = config
      .replace('copy .env.example to .env and fill it in, then ', '')
      .replace(
        /^service:\n(?: .*\n)+/m,
        'service: simulator # comes with ripen: no account, no network\n',
      );
  const texts = new Map([
    ['ripen.yaml', config],
    ['.env.example', environmentText],
    [SCHEMA_FILE, await bundled(SCHEMA_FILE)],
  ]);
  if (!isThere(pathOf('.gitignore'))) texts.set('.gitignore', ignoredText);
  try {
    await makeDirectory(directory, mode);
    for (const [name, text] of texts) {
      // `wx` does not overwrite a file that was created since.
      await writeFile(pathOf(name), text, { flag: 'wx', mode });
      await chmod(pathOf(name), mode);
    }
  } catch (cause) {
    const message = `The configuration could not be written to ${directory}: ${String(cause)}`;
    const hint = 'Choose a directory that you may write to, on a disk with free space.';
    throw new Failure('STORAGE_FAILED', message, { hint, cause });
  }
  return { written: [...texts.keys()].map(pathOf) };
}

/** Also true of a broken link. If a path cannot be inspected, writing fails with the reason. */
function isThere(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
