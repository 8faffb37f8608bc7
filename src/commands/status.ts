/** `ripen status`: what is fresh, what is final, what moved. */

import { statusOf } from '../status/status-of.ts';
import { resolve } from 'node:path';

import { exitCodes, Failure } from '../errors.ts';
import { removeUnfinished, replaceText } from '../publish/replacement.ts';
import type { StatusReport } from '../status/status-report.ts';
import { asOfInstant, durationOf } from './instant.ts';
import { openConfig } from './open-config.ts';
import { simulatedNow } from '../run/service-in-use.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import type { Shown } from '../terminal/ripening-text.ts';
import { statusText } from '../terminal/status-text.ts';

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
  const lockWaitMs = args.lockWait === undefined ? null : durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell, { offline: true });
  const asOf = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config) ?? shell.now();
  const progress = openProgress(args, shell);
  const report = await statusOf(config, asOf, lockWaitMs, progress.emit).finally(() => {
    progress.close();
  });
  if (args.html !== undefined) await writePage(resolve(shell.directory, args.html), report, namedMode(shell));
  if (args.json) shell.print(jsonLine(report));
  else if (args.html === undefined) shell.print(statusText(report, shell.resultColumns(), shownOf(args)));
  else shell.print(`${report.health.headline}\nwritten to ${args.html}`);
  const { state } = report.health;
  return args.failOn === state || (args.failOn === 'watch' && state === 'failed') ? exitCodes.contract : 0;
}

const shownOf = ({ maturation = false, backtest = false }: StatusArguments): Shown => ({ maturation, backtest });

/** Writes the report as a page with these file rights, whole or not at all. Throws `STORAGE_FAILED`. */
export async function writePage(path: string, report: StatusReport, mode: number): Promise<void> {
  // Loaded only here: nobody else pays for the drawing.
  const { statusPage } = await import('../page/page.ts');
  try {
    await replaceText(path, statusPage(report), mode);
  } catch (error) {
    await removeUnfinished(path);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure('STORAGE_FAILED', `The page ${path} could not be written: ${reason}`, {
      hint: 'Name a file in a directory that exists and may be written to.',
      cause: error,
    });
  }
}
