/** `ripen publish`: the readable copies, brought up to the warehouse. */

import { exitCodeOf } from '../errors.ts';
import { publish as publishCopies } from '../publish/publish.ts';
import { failureLines } from './failure-text.ts';
import { durationOf } from './instant.ts';
import { countText } from './measure.ts';
import { openConfig, withWarehouse } from './open.ts';
import { jsonLine } from './printable.ts';
import { openProgress } from './progress/progress.ts';
import type { GlobalArguments, Shell } from './shell.ts';

export interface PublishArguments extends GlobalArguments {
  readonly lockWait: string;
}

/** Publishes to every configured target and prints what was written. */
export async function publish(args: PublishArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell);
  const progress = openProgress(args, shell);
  const { emit } = progress;
  const { published, failures } = await withWarehouse(
    config.warehouse,
    { mode: 'write', lockWaitMs, emit, signal: shell.signal },
    async (warehouse) => publishCopies(config, warehouse, emit, shell.signal),
  ).finally(() => {
    progress.close();
  });
  for (const failure of failures) shell.tell(failureLines(failure, args.log, shell.now()));
  if (args.json) shell.print(jsonLine({ published }));
  else if (published.length + failures.length === 0) shell.print('No publish target is configured.');
  for (const copy of args.json ? [] : published) {
    shell.print(`${copy.kind} ${copy.path}: ${countText(copy.files_written, 'file')} written`);
  }
  return exitCodeOf(failures);
}
