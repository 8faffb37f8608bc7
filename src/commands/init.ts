/** `ripen init`: a first configuration; never overwrites. */

import { constants } from 'node:fs';
import { access, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { Failure } from '../errors.ts';
import { configText, environmentText, SCHEMA_FILE } from './init-files.ts';
import { jsonLine } from './printable.ts';
import type { GlobalArguments, Shell } from './shell.ts';

export interface InitArguments extends GlobalArguments {
  readonly dir: string;
}

/** The schema as it is checked in, from `src/commands/` and `dist/commands/` alike. */
const schema = new URL(`../../config/${SCHEMA_FILE}`, import.meta.url);

/** Writes the three files, or, when one of them exists, none: `USAGE_INVALID` naming every one that does. */
export async function init(args: InitArguments, shell: Shell): Promise<number> {
  const directory = resolve(shell.directory, args.dir);
  const files = ['ripen.yaml', '.env.example', SCHEMA_FILE].map((name) => join(directory, name));
  const [configFile = '', environmentFile = '', schemaFile = ''] = files;
  await refuseExisting(files);
  try {
    await mkdir(directory, { recursive: true });
    // `wx`, for a file that appeared since: it is not overwritten either.
    await writeFile(configFile, configText, { flag: 'wx' });
    await writeFile(environmentFile, environmentText, { flag: 'wx' });
    await copyFile(schema, schemaFile, constants.COPYFILE_EXCL);
  } catch (cause) {
    throw new Failure('STORAGE_FAILED', `The configuration could not be written to ${directory}: ${String(cause)}`, {
      hint: 'Choose a directory that you may write to.',
      cause,
    });
  }
  if (args.json) shell.print(jsonLine({ written: files }));
  else shell.print(`${files.map((file) => `wrote ${file}`).join('\n')}\nnext: edit ripen.yaml, then \`ripen check\``);
  return 0;
}

async function refuseExisting(files: readonly string[]): Promise<void> {
  const found = await Promise.all(files.map(async (file) => ((await exists(file)) ? [file] : [])));
  const existing = found.flat();
  if (existing.length === 0) return;
  throw new Failure('USAGE_INVALID', `Nothing was written, as this existed already: ${existing.join(', ')}`, {
    hint: 'Give `ripen init` another directory, or move these files away.',
  });
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}
