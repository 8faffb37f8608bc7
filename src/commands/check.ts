/** `ripen check`: everything that can be known to be wrong before a sync, at once; writes nothing. */

import { inspected } from '../check/check.ts';
import { inspectConfig } from '../config/read-config.ts';
import { exitCodeOf } from '../errors.ts';
import { failuresAmong, findingsText } from '../check/finding.ts';
import { asOfInstant } from './instant.ts';
import { simulatedNow } from '../run/service-in-use.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

/** Prints every finding; resolves to the exit code of the gravest error, 0 for warnings alone. */
export async function check(args: GlobalArguments, shell: Shell): Promise<number> {
  const inspection = await inspectConfig({
    ...(args.config === undefined ? {} : { file: args.config }),
    directory: shell.directory,
    environment: shell.environment,
  });
  const at = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(inspection.config) ?? shell.now();
  const progress = openProgress(args, shell);
  const findings = await inspected(inspection, at, progress.emit, shell.signal).finally(() => {
    progress.close();
  });
  shell.print(args.json ? jsonLine({ findings }) : findingsText(findings));
  return exitCodeOf(failuresAmong(findings));
}
