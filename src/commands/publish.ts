/** `ripen publish`: the readable copies, brought up to the warehouse, or described for who reads them. */

import { dirname, join, resolve } from 'node:path';

import {
  dbtSources,
  exitCodeOf,
  lakeDdl,
  publish as publishCopies,
  type Circumstances,
  type Config,
  type Engine,
  type Publication,
  type Published,
} from '../index.ts';
import { Failure, textOf } from '../errors.ts';

import { accountLakes, accountsDdl, type AccountLakes } from '../publish/accounts-ddl.ts';
import { makeDirectory, writeOutput } from '../publish/replacement.ts';
import { refuseOutput } from '../publish/places.ts';
import { failureLines } from '../terminal/failure-text.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { withConfig } from './verb.ts';

interface PublishArguments extends Omit<GlobalArguments, 'config'> {
  /** Several with `--ddl`: accounts that are read as one. */
  readonly config: readonly string[] | undefined;
  readonly lockWait: string;
  readonly ddl: Engine | undefined;
  /** A folder, a file, or `-` or nothing for stdout. */
  readonly dbt: string | undefined;
}

/** Publishes to every configured target and says what that took; with `--ddl` or `--dbt` describes them instead. */
export async function publish({ config: files = [], ...rest }: PublishArguments, shell: Shell): Promise<number> {
  const args = { ...rest, config: files[0] };
  if (files.length > 1) return describeAccounts(files, args, shell);
  const describe = describing(args);
  if (describe !== null) {
    const described = await withConfig(args, shell, true, async (config, stated) => {
      const description = await describe(config, stated);
      if (description.path !== null) await refuseOutput(config, resolve(shell.directory, description.path));
      return description;
    });
    return tell(described, args, shell);
  }
  const done = await withConfig(args, shell, true, publishCopies);
  const isIdle = done.published.length + done.failures.length === 0;
  return reportCopies(done, { fields: {}, lines: isIdle ? ['No publish target is configured.'] : [] }, args, shell);
}

/** Prints what was published behind what went before it; returns the gravest failure's exit code. */
export function reportCopies(
  { published, failures }: Publication,
  before: { readonly fields: object; readonly lines: readonly string[] },
  args: GlobalArguments,
  shell: Shell,
): number {
  for (const failure of failures) shell.tell(failureLines(failure, args, shell.now()));
  if (args.json) {
    const told = failures.map(({ code, message, hint }) => ({ code, message, hint }));
    shell.print(jsonLine({ ...before.fields, published, failures: told }));
  } else {
    for (const line of before.lines) shell.print(line);
    for (const copy of published) shell.print(`${copy.kind} ${copy.path}: ${reportText(copy)}`);
  }
  return exitCodeOf(failures);
}

/** `3 files written, 1 removed; _manifest.json too`, or `up to date`. */
function reportText({ files_written: written, files_removed: removed, also_written: also }: Published): string {
  const done = [
    ...(written === 0 ? [] : [`${written} ${written === 1 ? 'file' : 'files'} written`]),
    ...(removed === 0 ? [] : [`${removed} removed`]),
  ];
  if (done.length === 0) return also.length === 0 ? 'up to date' : `${also.join(' and ')} written`;
  return `${done.join(', ')}${also.length === 0 ? '' : `; ${also.join(' and ')} too`}`;
}

interface Description {
  /** Null for stdout. */
  readonly path: string | null;
  readonly text: string;
}

const SOURCES = 'ripen_sources.yml';

/** Prints how an engine reads several accounts, each of a configuration and a warehouse of its own, as one. */
async function describeAccounts(files: readonly string[], args: OneConfig, shell: Shell): Promise<number> {
  const { ddl } = args;
  if (ddl === undefined) {
    throw new Failure('USAGE_INVALID', `The command line was refused: --config was given ${files.length} times.`, {
      hint: 'Publish each configuration by itself; --ddl describes several as one.',
    });
  }
  const accounts: AccountLakes[] = [];
  for (const config of files) {
    const described = withConfig({ ...args, config }, shell, true, async (read, stated) =>
      accountLakes(ddl, read, stated),
    );
    accounts.push(await described);
  }
  return tell({ path: null, text: accountsDdl(ddl, accounts) }, args, shell);
}

type OneConfig = Omit<PublishArguments, 'config'> & GlobalArguments;

function describing({ ddl, dbt }: Pick<PublishArguments, 'ddl' | 'dbt'>) {
  if (ddl !== undefined) {
    return async (config: Config, stated: Circumstances): Promise<Description> => ({
      path: null,
      text: await lakeDdl(config, { ...stated, engine: ddl }),
    });
  }
  if (dbt === undefined) return null;
  const file = /\.ya?ml$/.test(dbt) ? dbt : join(dbt, SOURCES);
  return async (config: Config, stated: Circumstances): Promise<Description> => ({
    path: dbt === '' || dbt === '-' ? null : file,
    text: await dbtSources(config, stated),
  });
}

/** Prints a description, or writes it and says so; as JSON an object with the text of what is not written. */
async function tell({ path: named, text }: Description, args: GlobalArguments, shell: Shell): Promise<number> {
  const path = named === null ? null : resolve(shell.directory, named);
  if (path !== null) await write(path, text, namedMode(shell));
  const lines = path === null ? text.trimEnd() : `${path} written`;
  shell.print(args.json ? jsonLine({ described: [path === null ? { path, text } : { path, written: true }] }) : lines);
  return 0;
}

async function write(path: string, text: string, mode: number): Promise<void> {
  try {
    await makeDirectory(dirname(path), mode);
    await writeOutput(path, text, mode);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const reason = textOf(error);
    throw new Failure('STORAGE_FAILED', `The file ${path} could not be written: ${reason}`, {
      hint: 'Name a file or a folder that you may write to.',
      cause: error,
    });
  }
}
