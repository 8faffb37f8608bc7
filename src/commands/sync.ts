/** `ripen sync`: the nightly job. */

import { carryOut } from './run.ts';
import { durationOf } from './instant.ts';
import { namedSlices } from './named-slices.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

export interface SyncArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly deadline: string | undefined;
  readonly metricsFile: string | undefined;
  readonly lockWait: string;
}

/** Loads every due window of the named slices, or of all, and publishes. */
export async function sync(args: SyncArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const deadlineMs = args.deadline === undefined ? null : durationOf(args.deadline, '--deadline');
  return carryOut(args, shell, (config) => ({
    command: 'sync',
    slices: namedSlices(config, args.slice),
    forced: null,
    acceptLoss: false,
    lockWaitMs,
    deadlineMs,
  }));
}
