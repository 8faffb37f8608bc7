/** `ripen publish`: the readable copies, brought up to the warehouse, or described for who reads them. */

import { lstat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import {
  dbtModels,
  dbtSources,
  exitCodeOf,
  lakeDdl,
  publish as publishCopies,
  type Circumstances,
  type Config,
  type DbtFile,
  type Engine,
  type Publication,
} from '../index.ts';
import { Failure, textOf } from '../errors.ts';

import { writeOutput } from '../publish/output-file.ts';
import { ifThere, makeDirectory } from '../publish/replacement.ts';
import { reportText } from '../publish/report.ts';
import { refuseOutput } from '../publish/claims.ts';
import { failureLines } from '../terminal/failure-text.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { withConfig } from './verb.ts';

export interface PublishArguments extends GlobalArguments {
  readonly lockWait: string;
  readonly ddl: Engine | undefined;
  /** A folder for models, a file for the sources alone, or `-` or nothing for stdout. */
  readonly dbt: string | undefined;
}

/** Publishes to every configured target and says what that took; with `--ddl` or `--dbt` describes them instead. */
export async function publish(args: PublishArguments, shell: Shell): Promise<number> {
  const describe = describing(args);
  if (describe !== null) {
    const described = await withConfig(args, shell, true, async (config, stated) => {
      const descriptions = await describe(config, stated);
      for (const { path } of descriptions) {
        if (path !== null) await refuseOutput(config, resolve(shell.directory, path));
      }
      return descriptions;
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

type Description = Pick<DbtFile, 'text' | 'isExample'> & {
  /** Null for stdout. */
  readonly path: string | null;
};

function describing({ ddl, dbt }: PublishArguments) {
  const one = (path: string | null, text: string): Description[] => [{ path, text, isExample: false }];
  if (ddl !== undefined) {
    return async (config: Config, stated: Circumstances) =>
      one(null, await lakeDdl(config, { ...stated, engine: ddl }));
  }
  if (dbt === undefined) return null;
  return async (config: Config, stated: Circumstances): Promise<readonly Description[]> => {
    if (dbt === '' || dbt === '-') return one(null, await dbtSources(config, stated));
    if (/\.ya?ml$/.test(dbt)) return one(dbt, await dbtSources(config, stated));
    const files = await dbtModels(config, stated);
    return files.map(({ path, text, isExample }) => ({ path: join(dbt, path), text, isExample }));
  };
}

/** Prints each description, or writes it and says so; as JSON one object of all, with the text of what is not written. */
async function tell(descriptions: readonly Description[], args: GlobalArguments, shell: Shell): Promise<number> {
  const told: object[] = [];
  for (const { path: named, text, isExample } of descriptions) {
    if (named === null) {
      if (!args.json) shell.print(text.trimEnd());
      told.push({ path: null, text });
      continue;
    }
    const path = resolve(shell.directory, named);
    const isKept = isExample && (await ifThere(lstat(path))) !== null;
    if (!isKept) await write(path, text, namedMode(shell));
    if (!args.json) shell.print(`${path} ${isKept ? 'kept' : 'written'}`);
    told.push({ path, written: !isKept });
  }
  if (args.json) shell.print(jsonLine({ described: told }));
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
