/** What `check` is given beside a configuration, for one that came from no file. */

import type { Checking } from '../../src/check/warehouse.ts';
import { unplacedSettings } from '../../src/config/stated-settings.ts';

/** A check at an instant that nothing ends early. */
export const checkingAt = (at: Date): Checking => ({
  at,
  stated: unplacedSettings,
  signal: AbortSignal.timeout(60_000),
});
