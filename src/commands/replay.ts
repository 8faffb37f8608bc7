/** `ripen replay`: once more what the archive holds, without the service. */

import { exitCodeOf } from '../errors.ts';
import { replay as replayArchive } from '../replay.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import { failuresOf, failuresText } from '../terminal/failure-text.ts';
import { asOfInstant, durationOf } from './instant.ts';
import { namedSlices } from './named-slices.ts';
import { openConfig } from './open-config.ts';
import { simulatedNow } from '../run/service-in-use.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { summaryText } from '../terminal/summary-text.ts';

export interface ReplayArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Loads the archived answers of the named slices, or of all, publishes, and prints the summary. */
export async function replay(args: ReplayArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell, { offline: true });
  const slices = namedSlices(config, args.slice);
  const asOf = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config);
  const progress = openProgress(args, shell);
  const summary = await replayArchive(config, { asOf, slices, lockWaitMs }, progress.emit, shell.signal)
    .then((done) => {
      // What ended a whole run was no slice's event; a log of events has to hold it too.
      for (const failure of done.failures) if (failure.slice === null) progress.emit({ type: 'failed', ...failure });
      return done;
    })
    .finally(() => {
      progress.close();
    });
  if (args.log === 'text' && summary.failures.length > 0) shell.tell(failuresText(groupedFailures(summary.failures)));
  shell.print(args.json ? jsonLine(summary) : summaryText(summary));
  return exitCodeOf(failuresOf(summary.failures));
}
