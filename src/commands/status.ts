/** `ripen status`: what is fresh, what is final, what moved. */

import { resolve } from 'node:path';

import { exitCodes, Failure, textOf } from '../errors.ts';
import { status as statusOf, statusPage, type StatusReport } from '../index.ts';
import { writeOutput } from '../publish/output-file.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import type { Shown } from '../terminal/ripening-text.ts';
import { statusText } from '../terminal/status-text.ts';
import { withConfig } from './verb.ts';

export interface StatusArguments extends GlobalArguments {
  /** Where to write the page; none without it. */
  readonly html: string | undefined;
  readonly lockWait: string | undefined;
  readonly failOn?: 'watch' | 'failed' | undefined;
  readonly maturation?: boolean | undefined;
  readonly backtest?: boolean | undefined;
}

/**
 * Prints the status report, or writes it as a page; a warehouse that does not exist yet is an empty one. Resolves to 65
 * where things are as bad as `--fail-on` says, or worse.
 */
export async function status(args: StatusArguments, shell: Shell): Promise<number> {
  const page = args.html === undefined ? null : resolve(shell.directory, args.html);
  const report = await withConfig(args, shell, true, async (config, stated) =>
    statusOf(config, page === null ? stated : { ...stated, output: page }),
  );
  if (page !== null) await writePage(page, report, namedMode(shell));
  if (args.json) shell.print(jsonLine(report));
  else if (args.html === undefined) shell.print(statusText(report, shell.resultColumns(), shownOf(args)));
  else shell.print(`${report.health.headline}\nwritten to ${args.html}`);
  const { state } = report.health;
  return args.failOn === state || (args.failOn === 'watch' && state === 'failed') ? exitCodes.contract : 0;
}

const shownOf = ({ maturation = false, backtest = false }: StatusArguments): Shown => ({ maturation, backtest });

/** Writes the report as a page with these file rights, whole or not at all. Throws `STORAGE_FAILED`, `USAGE_INVALID`. */
export async function writePage(path: string, report: StatusReport, mode: number): Promise<void> {
  try {
    await writeOutput(path, await statusPage(report), mode);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const reason = textOf(error);
    throw new Failure('STORAGE_FAILED', `The page ${path} could not be written: ${reason}`, {
      hint: 'Name a file in a directory that exists and may be written to.',
      cause: error,
    });
  }
}
