/** Refuses a working directory that was removed since; imported before everything else, as libraries ask for it while they load. */

import { exitCodes } from '../errors.ts';

try {
  process.cwd();
} catch {
  process.stderr.write(`USAGE_INVALID: The working directory did not exist any more.
  hint: Change to a directory that exists, and run it again.
`);
  process.exit(exitCodes.usage);
}
