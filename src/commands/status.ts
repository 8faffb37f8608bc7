/** `ripen status`. */

import { resolve } from 'node:path';

import { exitCodes } from '../errors.ts';
import { status as statusOf, statusPage } from '../index.ts';
import { statusText } from '../report/terminal/status-text.ts';
import { instantOf, offline, parseOption, writeNamed } from './verb.ts';
import type { Arguments } from './words.ts';

/** The exit code is 65 if the state is what `--fail-on` names, or worse. */
export const status = offline(async (config, options, args: Arguments<'status'>, shell) => {
  const { slice: slices, html, failOn, maturation, backtest, news } = args;
  const since = parseOption(instantOf, args.since, '--since');
  const output = html === undefined ? undefined : resolve(shell.directory, html);
  const report = await statusOf(config, { ...options, slices, since, output });
  if (output !== undefined) await writeNamed(output, await statusPage(report), shell);
  const shown = { details: slices !== undefined, maturation, backtest, news };
  const { state, headline } = report.health;
  const isBad = failOn === state || (failOn === 'watch' && state === 'failed');
  return {
    json: report,
    text: (columns) =>
      html === undefined ? statusText(report, columns, shown) : `${headline}\nwritten to ${html}`,
    exitCode: isBad ? exitCodes.contract : 0,
  };
});
