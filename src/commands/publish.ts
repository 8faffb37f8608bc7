/** `ripen publish`: the readable copies, brought up to the warehouse, or described for who reads them. */

import { resolve } from 'node:path';

import {
  dbtSources,
  exitCodeOf,
  lakeDdl,
  publish as publishCopies,
  type Circumstances,
  type Config,
  type Engine,
  type Publication,
} from '../index.ts';
import { replaceText } from '../publish/replacement.ts';
import { reportText } from '../publish/report.ts';
import { failureLines } from '../terminal/failure-text.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { withConfig } from './verb.ts';

export interface PublishArguments extends GlobalArguments {
  readonly lockWait: string;
  readonly ddl: Engine | undefined;
  /** A file, or `-` or nothing for stdout. */
  readonly dbt: string | undefined;
}

/** Publishes to every configured target and says what that took; with `--ddl` or `--dbt` describes them instead. */
export async function publish(args: PublishArguments, shell: Shell): Promise<number> {
  const describe = describing(args);
  if (describe !== null) return tell(await withConfig(args, shell, true, describe), args.dbt, shell);
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

function describing({ ddl, dbt }: PublishArguments) {
  if (ddl !== undefined) {
    return async (config: Config, stated: Circumstances) => lakeDdl(config, { ...stated, engine: ddl });
  }
  return dbt === undefined ? null : dbtSources;
}

async function tell(text: string, file: string | undefined, shell: Shell): Promise<number> {
  if (file === undefined || file === '' || file === '-') {
    shell.print(text.trimEnd());
    return 0;
  }
  const path = resolve(shell.directory, file);
  await replaceText(path, text, namedMode(shell));
  shell.print(`${path} written`);
  return 0;
}
