/** `ripen sync`, the nightly job; `ripen backfill`, periods again; `ripen replay`, the archive again. */

import { resolve } from 'node:path';

import {
  backfill as backfillSlice,
  exitCodeOf,
  replay as replayArchive,
  sync as syncAll,
  type SyncSummary,
} from '../index.ts';
import { exitCodes } from '../errors.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import { failuresOf, failuresText } from '../terminal/failure-text.ts';
import { openProgress } from '../terminal/progress.ts';
import { type GlobalArguments, namedMode, type Shell } from '../terminal/shell.ts';
import { summaryText } from '../terminal/summary-text.ts';
import { dayRange, durationOf } from './instant.ts';
import { printResult, withConfig } from './verb.ts';

export interface SyncArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly deadline: string | undefined;
  readonly metricsFile: string | undefined;
  readonly lockWait: string;
}

/** Loads every due window of the named slices, or of all, and publishes. */
export async function sync(args: SyncArguments, shell: Shell): Promise<number> {
  const metricsFile = args.metricsFile === undefined ? null : resolve(shell.directory, args.metricsFile);
  const told = { metricsFile, mode: namedMode(shell) };
  let isRead = false;
  const load = async (): Promise<SyncSummary> => {
    const deadlineMs = args.deadline === undefined ? null : durationOf(args.deadline, '--deadline');
    return withConfig(args, shell, false, async (config, stated) => {
      isRead = true;
      return syncAll(config, { ...stated, ...told, slices: args.slice, deadlineMs });
    });
  };
  try {
    return reported(await load(), args, shell);
  } catch (thrown) {
    // What fails later is told by the run itself.
    if (!isRead && metricsFile !== null) await tellUnreadRun(thrown, { ...told, metricsFile }, args, shell);
    throw thrown;
  }
}

async function tellUnreadRun(
  thrown: unknown,
  told: { readonly metricsFile: string; readonly mode: number },
  args: GlobalArguments,
  shell: Shell,
): Promise<void> {
  const { tellUnread } = await import('../notify/run-end.ts');
  const progress = openProgress(args, shell);
  await tellUnread({ ...told, command: 'sync', signal: shell.signal, emit: progress.emit }, thrown);
  progress.close();
}

/** Prints the failures and the summary of a run; returns the gravest failure's exit code, or that of one that was stopped. */
export function reported(summary: SyncSummary, args: GlobalArguments, shell: Shell): number {
  if (args.log === 'text' && summary.failures.length > 0) shell.tell(failuresText(groupedFailures(summary.failures)));
  printResult(args, shell, summary, () => summaryText(summary));
  return summary.status === 'interrupted' ? exitCodes.interrupted : exitCodeOf(failuresOf(summary.failures));
}

export interface BackfillArguments extends GlobalArguments {
  readonly slice: string;
  readonly from: string;
  readonly to: string;
  readonly acceptLoss: boolean;
  readonly lockWait: string;
}

/** Refetches and replaces the periods that touch the days, and publishes. */
export async function backfill(args: BackfillArguments, shell: Shell): Promise<number> {
  const days = dayRange(args.from, args.to);
  const { slice, acceptLoss } = args;
  const summary = await withConfig(args, shell, false, async (config, stated) =>
    backfillSlice(config, { ...stated, slice, days, acceptLoss }),
  );
  return reported(summary, args, shell);
}

export interface ReplayArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Loads the archived answers of the named slices, or of all, publishes, and prints the summary. */
export async function replay(args: ReplayArguments, shell: Shell): Promise<number> {
  const summary = await withConfig(args, shell, true, async (config, stated) =>
    replayArchive(config, { ...stated, slices: args.slice }),
  );
  return reported(summary, args, shell);
}
