/** `ripen status`: what is fresh, what is final, what moved. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { removeUnfinished, replaceText } from '../publish/replacement.ts';
import { readStatus } from '../status/status.ts';
import type { StatusReport } from '../status/status-report.ts';
import { asOfInstant, durationOf } from './instant.ts';
import { openConfig, simulatedNow, withWarehouse } from './open.ts';
import { jsonLine } from './printable.ts';
import { openProgress } from './progress/progress.ts';
import { namedMode, type GlobalArguments, type Shell } from './shell.ts';
import type { Shown } from './ripening-text.ts';
import { statusText } from './status-text.ts';

export interface StatusArguments extends GlobalArguments {
  /** Where to write the page; none without it. */
  readonly html: string | undefined;
  readonly lockWait: string;
  readonly maturation?: boolean | undefined;
  readonly backtest?: boolean | undefined;
}

/** Prints the status report, or writes it as a page; a warehouse that does not exist yet is an empty one. */
export async function status(args: StatusArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
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
  return 0;
}

const shownOf = ({ maturation = false, backtest = false }: StatusArguments): Shown => ({ maturation, backtest });

/** Writes the report as a page with these file rights, whole or not at all. Throws `STORAGE_FAILED`. */
export async function writePage(path: string, report: StatusReport, mode: number): Promise<void> {
  // Loaded only here: nobody else pays for the drawing.
  const { statusPage } = await import('./status-page/page.ts');
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

/** The status report of a configuration's warehouse. Throws `WAREHOUSE_LOCKED` while a run holds it after the wait. */
export async function statusOf(config: Config, asOf: Date, lockWaitMs: number, emit: Emit): Promise<StatusReport> {
  if (!existsSync(config.warehouse)) return readStatus(config, null, asOf);
  return withWarehouse(config.warehouse, { mode: 'read', lockWaitMs, emit }, async (warehouse) =>
    readStatus(config, warehouse, asOf),
  );
}
