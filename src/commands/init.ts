/** `ripen init`: a first configuration; never overwrites. */

import { resolve } from 'node:path';

import { init as writeFirst, type FirstFiles } from '../index.ts';
import { jsonLine } from '../terminal/printable.ts';
import { inProgress } from './verb.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';

export interface InitArguments extends GlobalArguments {
  readonly dir: string;
  readonly simulator?: boolean | undefined;
  readonly fromAccount?: boolean | undefined;
  readonly baseUrl?: string | undefined;
  readonly reportsUrl?: string | undefined;
  readonly app?: readonly string[] | undefined;
  readonly currency?: string | undefined;
}

/** Writes the files and says what to do next. */
export async function init(args: InitArguments, shell: Shell): Promise<number> {
  const { dir, simulator = false } = args;
  const first = { directory: resolve(shell.directory, dir), simulator, mode: namedMode(shell) };
  const files =
    args.fromAccount === true
      ? await inProgress(args, shell, async ({ emit, signal }) => {
          const { baseUrl, reportsUrl, app: apps, currency } = args;
          const account = { environment: shell.environment, baseUrl, reportsUrl, apps, currency, emit, signal };
          return writeFirst({ ...first, account });
        })
      : await writeFirst(first);
  shell.print(args.json ? jsonLine({ written: files.written }) : writtenText(files, args));
  return 0;
}

/** A directory as a shell takes it for one word that is no option. */
function typed(directory: string): string {
  const path = directory.startsWith('-') ? `./${directory}` : directory;
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function writtenText({ written, toIgnore }: FirstFiles, { dir, simulator, fromAccount }: InitArguments): string {
  const enter = dir === '.' ? '' : `\`cd ${typed(dir)}\`, `;
  const edit = simulator === true || fromAccount === true ? '' : 'edit ripen.yaml, set the variables of .env.example, ';
  return [
    ...written.map((file) => `wrote ${file}`),
    ...(toIgnore === null ? [] : [`kept .gitignore; it should name ${toIgnore.join(', ')}`]),
    `next: ${enter}${edit}\`npx ripen check\`, \`npx ripen sync\`, \`npx ripen status\``,
  ].join('\n');
}
