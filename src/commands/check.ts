/** `ripen init`, a first configuration, and `ripen check`, everything that can be known to be wrong before a sync. */

import { resolve } from 'node:path';

import { failuresAmong, findingsText } from '../check/finding.ts';
import { check as findingsOf, exitCodeOf, init as writeFirst, resolvedConfig, type FirstFiles } from '../index.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { inProgress, placeOf } from './verb.ts';

interface CheckArguments extends GlobalArguments {
  readonly resolved: boolean;
}

/**
 * Prints every finding; resolves to the exit code of the gravest error, 0 for warnings alone. With `--resolved` it prints the
 * configuration as it is understood, and requests nothing.
 */
export async function check(args: CheckArguments, shell: Shell): Promise<number> {
  if (args.resolved) {
    const yaml = await resolvedConfig({ ...placeOf(args, shell), offline: true });
    shell.print(args.json ? jsonLine({ resolved: yaml }) : yaml.trimEnd());
    return 0;
  }
  const findings = await inProgress(args, shell, async (stated) => findingsOf(placeOf(args, shell), stated));
  shell.print(args.json ? jsonLine({ findings }) : findingsText(findings));
  return exitCodeOf(failuresAmong(findings));
}

interface InitArguments extends GlobalArguments {
  readonly dir: string;
  readonly simulator?: boolean | undefined;
  readonly fromAccount?: boolean | undefined;
  readonly baseUrl?: string | undefined;
  readonly reportsUrl?: string | undefined;
  readonly app?: readonly string[] | undefined;
  readonly currency?: string | undefined;
}

/** Writes the files, none over another, and says what to do next. */
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
  const isReady = simulator === true || fromAccount === true;
  const edit = isReady ? '' : 'edit ripen.yaml, copy .env.example to .env and fill it in, ';
  return [
    ...written.map((file) => `wrote ${file}`),
    ...(toIgnore === null ? [] : [`kept .gitignore; it should name ${toIgnore.join(', ')}`]),
    `next: ${enter}${edit}\`npx ripen check\`, \`npx ripen sync\`, \`npx ripen status\``,
  ].join('\n');
}
