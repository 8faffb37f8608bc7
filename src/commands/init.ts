/** `ripen init`: a first configuration; never overwrites. */

import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { Failure } from '../errors.ts';
import { makeDirectory } from '../publish/replacement.ts';
import { configText, environmentText, ignoredText, SCHEMA_FILE } from './init-files.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';

export interface InitArguments extends GlobalArguments {
  readonly dir: string;
  readonly simulator: boolean;
}

/** The schema as it is checked in, from `src/commands/` and `dist/commands/` alike. */
const schema = new URL(`../../config/${SCHEMA_FILE}`, import.meta.url);

const IGNORED = '.gitignore';

/**
 * Writes the files, or, when one of them exists, none: `USAGE_INVALID` naming every one that does. A `.gitignore` that is
 * there stays as it is.
 */
export async function init(args: InitArguments, shell: Shell): Promise<number> {
  const directory = resolve(shell.directory, args.dir);
  const keepsIgnored = existsSync(join(directory, IGNORED));
  const texts: readonly (readonly [string, string])[] = [
    ['ripen.yaml', configText(args.simulator)],
    ['.env.example', environmentText],
    [SCHEMA_FILE, await readFile(schema, 'utf8')],
    ...(keepsIgnored ? [] : ([[IGNORED, ignoredText]] as const)),
  ];
  const files = texts.map(([name, text]) => ({ path: join(directory, name), text }));
  refuseExisting(files.map(({ path }) => path).filter((path) => existsSync(path)));
  const mode = namedMode(shell);
  try {
    await makeDirectory(directory, mode);
    for (const { path, text } of files) {
      // `wx`, for a file that appeared since: it is not overwritten either.
      await writeFile(path, text, { flag: 'wx' });
      await chmod(path, mode);
    }
  } catch (cause) {
    throw new Failure('STORAGE_FAILED', `The configuration could not be written to ${directory}: ${String(cause)}`, {
      hint: 'Choose a directory that you may write to.',
      cause,
    });
  }
  const written = files.map(({ path }) => path);
  shell.print(args.json ? jsonLine({ written }) : writtenText(written, args, keepsIgnored));
  return 0;
}

function writtenText(written: readonly string[], { dir, simulator }: InitArguments, keepsIgnored: boolean): string {
  const enter = dir === '.' ? '' : `\`cd ${dir}\`, `;
  const edit = simulator ? '' : 'edit ripen.yaml, set the variables of .env.example, ';
  return [
    ...written.map((file) => `wrote ${file}`),
    ...(keepsIgnored ? [`kept ${IGNORED}; it should name ${ignoredNames.join(', ')}`] : []),
    `next: ${enter}${edit}\`npx ripen check\`, \`npx ripen sync\`, \`npx ripen status\``,
  ].join('\n');
}

const ignoredNames = ignoredText.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

function refuseExisting(existing: readonly string[]): void {
  if (existing.length === 0) return;
  throw new Failure('USAGE_INVALID', `Nothing was written, as this existed already: ${existing.join(', ')}`, {
    hint: 'Give `ripen init` another directory, or move these files away.',
  });
}
