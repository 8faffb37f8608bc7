/** `ripen check`: everything that can be known to be wrong before a sync, at once; writes nothing. */

import { failuresAmong, findingsText } from '../check/finding.ts';
import { check as findingsOf, exitCodeOf, resolvedConfig } from '../index.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { fileOf, inProgress, printResult } from './verb.ts';

export interface CheckArguments extends GlobalArguments {
  readonly resolved?: boolean;
}

/**
 * Prints every finding; resolves to the exit code of the gravest error, 0 for warnings alone. With `--resolved` it prints the
 * configuration as it is understood, and asks nothing.
 */
export async function check(args: CheckArguments, shell: Shell): Promise<number> {
  const { directory, environment } = shell;
  if (args.resolved === true) {
    const yaml = await resolvedConfig({ ...fileOf(args), directory, environment, offline: true });
    printResult(args, shell, { resolved: yaml }, () => yaml.trimEnd());
    return 0;
  }
  const findings = await inProgress(args, shell, async (stated) =>
    findingsOf({ ...fileOf(args), directory, environment }, stated),
  );
  printResult(args, shell, { findings }, () => findingsText(findings));
  return exitCodeOf(failuresAmong(findings));
}
