/** `ripen sync`, `backfill` and `replay`. */

import { resolve } from 'node:path';

import {
  backfill as backfillSlice,
  replay as replayArchive,
  sync as syncAll,
  type SyncSummary,
} from '../index.ts';
import { exitCodeOf, exitCodes } from '../errors.ts';
import { openProgress } from '../report/terminal/progress.ts';
import type { Shell } from '../report/terminal/shell.ts';
import { summaryText } from '../report/terminal/summary-text.ts';
import { dayRange, durationOf, parseOption, offline, online, placeOf, withConfig } from './verb.ts';
import type { Arguments } from './words.ts';

export async function sync(args: Arguments<'sync'>, shell: Shell) {
  const metricsFile =
    args.metricsFile === undefined ? null : resolve(shell.directory, args.metricsFile);
  const monitor = { metricsFile, mode: shell.mode };
  let isRead = false;
  try {
    const deadlineMs = parseOption(durationOf, args.deadline, '--deadline');
    return await withConfig(args, shell, false, async (config, options) => {
      isRead = true;
      const request = { ...options, ...monitor, slices: args.slice, deadlineMs };
      return outcomeOf(await syncAll(config, request));
    });
  } catch (thrown) {
    // The run itself reports later failures.
    if (isRead) throw thrown;
    const { reportConfigError } = await import('../report/run-end.ts');
    const progress = openProgress(args, shell);
    const { signal } = shell;
    const context = { ...monitor, command: 'sync', asOf: null, signal, emit: progress.emit };
    const failure = await reportConfigError(context, placeOf(args, shell), thrown);
    progress.close();
    throw failure;
  }
}

export const backfill = online(async (config, options, args: Arguments<'backfill'>) => {
  const { slice, from, to, acceptLoss } = args;
  const days = dayRange(from, to);
  return outcomeOf(await backfillSlice(config, { ...options, slice, days, acceptLoss }));
});

export const replay = offline(async (config, options, { slice }: Arguments<'replay'>) =>
  outcomeOf(await replayArchive(config, { ...options, slices: slice })),
);

function outcomeOf(summary: SyncSummary) {
  const { status, failures } = summary;
  const exitCode = status === 'interrupted' ? exitCodes.interrupted : exitCodeOf(failures);
  return { json: summary, text: summaryText(summary), failures, exitCode };
}
