/** This machine's clock, compared with the time that the service's answers state. */

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Service } from './service.ts';

/** Clocks in a well-run network differ by less. */
const WORTH_A_WARNING_MS = 5 * 60_000;
/** Beyond this, finality would be decided by a wrong clock. */
const UNTRUSTED_MS = 60 * 60_000;

type Telling = Pick<Service, 'clockSkewMs'>;

export interface MachineClock {
  /** Throws `CLOCK_UNTRUSTED` where the newest answer says that the clock is off by an hour or more; warns, once, when it is by minutes. */
  check(): void;
}

/** The clock beside the answers of one piece of work; where an as-of instant was given, it is not what is planned by, and never refused. */
export function machineClock(service: Telling, asOf: Date | null, emit: Emit): MachineClock {
  let isWarned = false;
  return {
    // Each time anew: a clock may be set while a run is at work.
    check() {
      const skewMs = service.clockSkewMs() ?? 0;
      const size = Math.abs(skewMs);
      if (asOf !== null || size < WORTH_A_WARNING_MS) return;
      const minutes = Math.round(size / 60_000);
      const span = minutes < 2880 ? `${minutes} minutes` : `${Math.round(minutes / 1440)} days`;
      const message = `This machine's clock was ${span} ${skewMs > 0 ? 'behind' : 'ahead of'} the service's.`;
      if (size >= UNTRUSTED_MS) {
        throw new Failure('CLOCK_UNTRUSTED', message, {
          facts: { skew_ms: skewMs },
          hint: "Set this machine's clock; nothing was loaded, as nothing could be called final.",
        });
      }
      if (!isWarned) emit({ type: 'warning', code: 'CLOCK_OFF', slice: null, window: null, message });
      isWarned = true;
    },
  };
}

/** Now, where the newest answer that states the time agrees to within the hour; null where it does not, or none states it. */
export function confirmedNow(service: Telling): Date | null {
  const skewMs = service.clockSkewMs();
  return skewMs !== null && Math.abs(skewMs) < UNTRUSTED_MS ? new Date() : null;
}
