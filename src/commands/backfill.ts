/** `ripen backfill`: periods again, whatever their state. */

import { dayRange, durationOf } from './instant.ts';
import { namedSlices } from './named-slices.ts';
import { carryOut } from './run.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

export interface BackfillArguments extends GlobalArguments {
  readonly slice: string;
  readonly from: string;
  readonly to: string;
  readonly acceptLoss: boolean;
  readonly lockWait: string;
}

/** Refetches and replaces the periods that touch the days, and publishes. */
export async function backfill(args: BackfillArguments, shell: Shell): Promise<number> {
  const forced = dayRange(args.from, args.to);
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  return carryOut(args, shell, (config) => ({
    command: 'backfill',
    slices: namedSlices(config, [args.slice]),
    forced,
    acceptLoss: args.acceptLoss,
    lockWaitMs,
    deadlineMs: null,
  }));
}
