/** `ripen backfill`: periods again, whatever their state. */

import { backfill as backfillSlice } from '../index.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { dayRange } from './instant.ts';
import { reported } from './sync.ts';
import { withConfig } from './verb.ts';

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
