/** `ripen init`, a first configuration, and `ripen check`, everything that can be known to be wrong before a sync. */

import { resolve } from 'node:path';

import { failuresAmong, findingsText } from '../check/finding.ts';
import { check as findingsOf, exitCodeOf, init as writeFirst, type FirstFiles } from '../index.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { inProgress, placeOf } from './verb.ts';

/** Prints every finding; resolves to the exit code of the gravest error, 0 for warnings alone. */
export async function check(args: GlobalArguments, shell: Shell): Promise<number> {
  const findings = await inProgress(args, shell, async (stated) => findingsOf(placeOf(args, shell), stated));
  shell.print(args.json ? jsonLine({ findings }) : findingsText(findings));
  return exitCodeOf(failuresAmong(findings));
}

interface InitArguments extends GlobalArguments {
  readonly dir: string;
  readonly simulator: boolean;
}

/** Writes the files, none over another, and says what to do next. */
export async function init(args: InitArguments, shell: Shell): Promise<number> {
  const { dir, simulator } = args;
  const files = await writeFirst({ directory: resolve(shell.directory, dir), simulator, mode: namedMode(shell) });
  shell.print(args.json ? jsonLine({ written: files.written }) : writtenText(files, args));
  return 0;
}

/** A directory as a shell takes it for one word that is no option. */
function typed(directory: string): string {
  const path = directory.startsWith('-') ? `./${directory}` : directory;
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function writtenText({ written, toIgnore }: FirstFiles, { dir, simulator }: InitArguments): string {
  const enter = dir === '.' ? '' : `\`cd ${typed(dir)}\`, `;
  const edit = simulator ? '' : 'edit ripen.yaml, copy .env.example to .env and fill it in, ';
  return [
    ...written.map((file) => `wrote ${file}`),
    ...(toIgnore === null ? [] : [`kept .gitignore; it should name ${toIgnore.join(', ')}`]),
    `next: ${enter}${edit}\`npx ripen check\`, \`npx ripen sync\`, \`npx ripen status\``,
  ].join('\n');
}
