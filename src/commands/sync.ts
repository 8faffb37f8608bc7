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
import { failuresOf, failuresText } from '../terminal/failure-text.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { type GlobalArguments, namedMode, type Shell } from '../terminal/shell.ts';
import { summaryText } from '../terminal/summary-text.ts';
import { dayRange, durationOf } from './instant.ts';
import { placeOf, withConfig } from './verb.ts';

interface RunArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Loads every due window of the named slices, or of all, and publishes. */
export async function sync(
  args: RunArguments & { readonly deadline: string | undefined; readonly metricsFile: string | undefined },
  shell: Shell,
): Promise<number> {
  const metricsFile = args.metricsFile === undefined ? null : resolve(shell.directory, args.metricsFile);
  const monitor = { metricsFile, mode: namedMode(shell) };
  let isRead = false;
  try {
    const deadlineMs = args.deadline === undefined ? null : durationOf(args.deadline, '--deadline');
    const summary = await withConfig(args, shell, false, async (config, stated) => {
      isRead = true;
      return syncAll(config, { ...stated, ...monitor, slices: args.slice, deadlineMs });
    });
    return reported(summary, args, shell);
  } catch (thrown) {
    // What fails later is reported by the run itself.
    if (!isRead) {
      const { tellUnread } = await import('../notify/run-end.ts');
      const progress = openProgress(args, shell);
      const telling = { ...monitor, command: 'sync', asOf: null, signal: shell.signal, emit: progress.emit };
      const failure = await tellUnread(telling, placeOf(args, shell), thrown);
      progress.close();
      throw failure;
    }
    throw thrown;
  }
}

interface BackfillArguments extends GlobalArguments {
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

/** Loads the archived answers of the named slices, or of all, publishes, and prints the summary. */
export async function replay(args: RunArguments, shell: Shell): Promise<number> {
  const summary = await withConfig(args, shell, true, async (config, stated) =>
    replayArchive(config, { ...stated, slices: args.slice }),
  );
  return reported(summary, args, shell);
}

/** Prints the failures and the summary of a run; returns the gravest failure's exit code, or that of one that was stopped. */
function reported(summary: SyncSummary, args: GlobalArguments, shell: Shell): number {
  if (args.log === 'text' && summary.failures.length > 0) shell.tell(failuresText(summary.failures));
  shell.print(args.json ? jsonLine(summary) : summaryText(summary));
  return summary.status === 'interrupted' ? exitCodes.interrupted : exitCodeOf(failuresOf(summary.failures));
}
