/** `ripen status`: what is fresh, what is final, what moved. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Config } from '../config/config.ts';
import { exitCodes, Failure } from '../errors.ts';
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

/** A run takes long; whoever has no snapshot to look at waits a little for it. */
const USUAL_WAIT_MS = 60_000;

/**
 * The status report of a configuration's warehouse; while a run holds it, after the wait (null: none where there is a
 * snapshot), that of its published snapshot. Throws `WAREHOUSE_LOCKED` where there is none.
 */
export async function statusOf(
  config: Config,
  asOf: Date,
  lockWaitMs: number | null,
  emit: Emit,
): Promise<StatusReport> {
  if (!existsSync(config.warehouse)) return readStatus(config, null, asOf);
  const snapshot = config.publish.find(({ kind, path }) => kind === 'duckdb' && existsSync(path))?.path ?? null;
  const read = async (path: string, waitMs: number, stands: string | null): Promise<StatusReport> =>
    withWarehouse(path, { mode: 'read', lockWaitMs: waitMs, emit }, async (warehouse) =>
      readStatus(config, warehouse, asOf, stands),
    );
  try {
    return await read(config.warehouse, lockWaitMs ?? (snapshot === null ? USUAL_WAIT_MS : 0), null);
  } catch (held) {
    if (!(held instanceof Failure) || held.code !== 'WAREHOUSE_LOCKED' || snapshot === null) throw held;
    return await read(snapshot, 0, snapshot).catch(() => {
      throw held;
    });
  }
}
