/** `ripen status`: what is fresh, what is final, what moved. */

import { existsSync } from 'node:fs';

import type { Config } from '../config/config.ts';
import type { Emit } from '../events.ts';
import { readStatus } from '../status/status.ts';
import type { StatusReport } from '../status/status-report.ts';
import { asOfInstant, durationOf } from './instant.ts';
import { openConfig, simulatedNow, withWarehouse } from './open.ts';
import { jsonLine } from './printable.ts';
import { openProgress } from './progress/progress.ts';
import type { GlobalArguments, Shell } from './shell.ts';
import { statusText } from './status-text.ts';

export interface StatusArguments extends GlobalArguments {
  readonly lockWait: string;
}

/** Prints the status report; a warehouse that does not exist yet is an empty one. */
export async function status(args: StatusArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell);
  const asOf = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config) ?? shell.now();
  const progress = openProgress(args, shell);
  const report = await statusOf(config, asOf, lockWaitMs, progress.emit).finally(() => {
    progress.close();
  });
  shell.print(args.json ? jsonLine(report) : statusText(report));
  return 0;
}

/** The status report of a configuration's warehouse. Throws `WAREHOUSE_LOCKED` while a run holds it after the wait. */
export async function statusOf(config: Config, asOf: Date, lockWaitMs: number, emit: Emit): Promise<StatusReport> {
  if (!existsSync(config.warehouse)) return readStatus(config, null, asOf);
  return withWarehouse(config.warehouse, { mode: 'read', lockWaitMs, emit }, async (warehouse) =>
    readStatus(config, warehouse, asOf),
  );
}
