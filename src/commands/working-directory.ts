/** Refuses a working directory that no longer exists. Imported before everything else, as libraries read it while they load. */

import { exitCodes } from '../errors.ts';

try {
  process.cwd();
} catch {
  process.stderr.write(`USAGE_INVALID: The working directory did not exist any more.
  hint: Change to a directory that exists, and run it again.
`);
  process.exit(exitCodes.usage);
}
