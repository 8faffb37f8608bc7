/** `ripen publish`: the readable copies, brought up to the warehouse, or described for who reads them. */

import { join, resolve } from 'node:path';

import { dbtSources, lakeDdl, publish as publishCopies, type Publication, type Published } from '../index.ts';
import { Failure } from '../errors.ts';
import { accountLakes, accountsDdl, type AccountLakes } from '../publish/accounts-ddl.ts';
import { refuseOutput } from '../publish/places.ts';
import type { Shell } from '../terminal/shell.ts';
import type { CommandOutcome } from './outcome.ts';
import { withConfig, writeNamed } from './verb.ts';
import type { Arguments } from './words.ts';

const SOURCES = 'ripen_sources.yml';

/** Publishes to every configured target and says what that took; with `--ddl` or `--dbt` describes them instead. */
export async function publish(all: Arguments<'publish'>, shell: Shell): Promise<CommandOutcome> {
  const { config: files = [], ddl, dbt } = all;
  const args = { ...all, config: files[0] };
  if (files.length > 1) return described(null, await accountsText(files, all, shell));
  return withConfig(args, shell, true, async (config, stated) => {
    if (ddl !== undefined) return described(null, await lakeDdl(config, { ...stated, engine: ddl }));
    if (dbt === undefined) {
      const done = await publishCopies(config, stated);
      const isIdle = done.published.length + done.failures.length === 0;
      return copiesOutcome(done, {}, isIdle ? ['No publish target is configured.'] : []);
    }
    const sources = await dbtSources(config, stated);
    if (dbt === '' || dbt === '-') return described(null, sources);
    const path = resolve(shell.directory, /\.ya?ml$/.test(dbt) ? dbt : join(dbt, SOURCES));
    await refuseOutput(config, path);
    await writeNamed(path, sources, shell, true);
    return described(path, sources);
  });
}

/** What was published, behind what went before it. */
export function copiesOutcome({ published, failures }: Publication, fields: object, lines: readonly string[]) {
  return {
    json: { ...fields, published, failures: failures.map(({ code, message, hint }) => ({ code, message, hint })) },
    text: [...lines, ...published.map((copy) => `${copy.kind} ${copy.path}: ${reportText(copy)}`)].join('\n'),
    failures,
  };
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

/** How an engine reads several accounts, each of a configuration and a warehouse of its own, as one. */
async function accountsText(files: readonly string[], args: Arguments<'publish'>, shell: Shell): Promise<string> {
  const { ddl } = args;
  if (ddl === undefined) {
    throw new Failure('USAGE_INVALID', `The command line was refused: --config was given ${files.length} times.`, {
      hint: 'Publish each configuration by itself; --ddl describes several as one.',
    });
  }
  const accounts: AccountLakes[] = [];
  for (const config of files) {
    const lakes = withConfig({ ...args, config }, shell, true, async (read, stated) => accountLakes(ddl, read, stated));
    accounts.push(await lakes);
  }
  return accountsDdl(ddl, accounts);
}

/** A description as the result, or that it was written. */
function described(path: string | null, text: string): CommandOutcome {
  const json = { described: [path === null ? { path, text } : { path, written: true }] };
  return { json, text: path === null ? text.trimEnd() : `${path} written` };
}
