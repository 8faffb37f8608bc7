/** What `sync` and `backfill` share: carry out one run and report it. */

import type { Config } from '../config/config.ts';
import { asFailure, exitCodeOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { FailureSummary, SyncSummary } from '../run/summary.ts';
import type { SyncRequest } from '../run/run.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import { sync } from '../sync.ts';
import { failuresOf, failuresText } from '../terminal/failure-text.ts';
import { asOfInstant } from './instant.ts';
import { openConfig } from './open-config.ts';
import { simulatedNow, withService } from '../run/service-in-use.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { tellRunEnd } from './run-end.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { summaryText } from '../terminal/summary-text.ts';

/** What a command adds to the request; the as-of instant comes from the options all commands share. */
export type RunOptions = Omit<SyncRequest, 'asOf'>;

/** Runs against the configured service, prints failures and summary, resolves to the gravest failure's exit code. */
export async function carryOut(
  args: GlobalArguments & { readonly metricsFile?: string | undefined },
  shell: Shell,
  optionsFor: (config: Config) => RunOptions,
): Promise<number> {
  const config = await openConfig(args, shell);
  const options = optionsFor(config);
  const asOf = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config);
  const progress = openProgress(args, shell);
  const told: FailureSummary[] = [];
  const emit: Emit = (event) => {
    if (event.type === 'failed') told.push(event);
    progress.emit(event);
  };
  const others = { emit, metricsFile: args.metricsFile ?? null };
  const { command } = options;
  const carriedOut = async (): Promise<SyncSummary> => {
    try {
      return await withService(config, asOf ?? shell.now(), emit, async (service) =>
        sync(config, service, { ...options, asOf }, emit, shell.signal),
      );
    } catch (thrown) {
      const failure = asFailure(thrown);
      await tellRunEnd({ command, endedAt: shell.now(), summary: null, failure }, config, shell, others);
      throw thrown;
    }
  };
  const finish = async (): Promise<SyncSummary> => {
    const done = await carriedOut();
    // What ended a whole run was no window's event; a log of events has to hold it too.
    for (const failure of done.failures) if (!told.some(isSame(failure))) emit({ type: 'failed', ...failure });
    await tellRunEnd({ command, endedAt: shell.now(), summary: done, failure: null }, config, shell, others);
    return done;
  };
  const summary = await finish().finally(() => {
    progress.close();
  });
  if (args.log === 'text' && summary.failures.length > 0) shell.tell(failuresText(groupedFailures(summary.failures)));
  shell.print(args.json ? jsonLine(summary) : summaryText(summary));
  return exitCodeOf(failuresOf(summary.failures));
}

function isSame(one: FailureSummary): (other: FailureSummary) => boolean {
  return (other) => one.code === other.code && one.slice === other.slice && one.window === other.window;
}
