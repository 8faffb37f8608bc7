/** `ripen init` and `ripen check`. */

import { resolve } from 'node:path';

import { failuresAmong, findingsText } from '../report/check/finding.ts';
import { check as findingsOf, exitCodeOf, init as writeFirst, resolvedConfig } from '../index.ts';
import type { Shell } from '../report/terminal/shell.ts';
import type { CommandOutcome } from './outcome.ts';
import { inProgress, placeOf } from './verb.ts';
import type { Arguments } from './words.ts';

export async function check(args: Arguments<'check'>, shell: Shell): Promise<CommandOutcome> {
  const place = placeOf(args, shell);
  if (args.resolved) {
    const yaml = await resolvedConfig({ ...place, offline: true });
    return { json: { resolved: yaml }, text: yaml.trimEnd() };
  }
  const findings = await inProgress(args, shell, async (options) => findingsOf(place, options));
  return {
    json: { findings },
    text: (columns) => findingsText(findings, columns),
    exitCode: exitCodeOf(failuresAmong(findings)),
  };
}

export async function init(args: Arguments<'init'>, shell: Shell): Promise<CommandOutcome> {
  const { dir, simulator = false, fromAccount = false, baseUrl, reportsUrl } = args;
  const first = { directory: resolve(shell.directory, dir), simulator, mode: shell.mode };
  const { written } = await inProgress(args, shell, async (options) => {
    const account = { ...options, environment: shell.environment, baseUrl, reportsUrl };
    return writeFirst(fromAccount ? { ...first, account } : first);
  });
  const enter = dir === '.' ? '' : `\`cd ${typed(dir)}\`, `;
  const edit =
    simulator || fromAccount ? '' : 'edit ripen.yaml, copy .env.example to .env and fill it in, ';
  const lines = [
    ...written.map((file) => `wrote ${file}`),
    `next: ${enter}${edit}\`npx ripen check\`, \`npx ripen sync\`, \`npx ripen status\``,
  ];
  return { json: { written }, text: lines.join('\n') };
}

/** Quotes a directory as one shell word that is not taken for an option. */
function typed(directory: string) {
  const path = directory.startsWith('-') ? `./${directory}` : directory;
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
