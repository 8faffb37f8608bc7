/** What `check` is given beside a configuration, for one that came from no file. */

import type { Checking } from '../../src/report/check/finding.ts';
import { noPositions } from '../../src/config/read-config.ts';

/** A check at an instant that nothing ends early. */
export const checkingAt = (at: Date): Checking => ({
  at,
  stated: noPositions,
  signal: AbortSignal.timeout(60_000),
});
