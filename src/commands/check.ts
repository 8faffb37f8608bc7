/** `ripen check`: everything that can be known to be wrong before a sync, at once; writes nothing. */

import { failuresAmong, findingsText } from '../check/finding.ts';
import { check as findingsOf, exitCodeOf } from '../index.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { fileOf, inProgress, printResult } from './verb.ts';

/** Prints every finding; resolves to the exit code of the gravest error, 0 for warnings alone. */
export async function check(args: GlobalArguments, shell: Shell): Promise<number> {
  const { directory, environment } = shell;
  const findings = await inProgress(args, shell, async (stated) =>
    findingsOf({ ...fileOf(args), directory, environment }, stated),
  );
  printResult(args, shell, { findings }, () => findingsText(findings));
  return exitCodeOf(failuresAmong(findings));
}
