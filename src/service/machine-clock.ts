/** This machine's clock, compared with the time that the service's answers state. */

import { Failure } from '../errors.ts';
import { type Emit, warningEvent } from '../events.ts';
import type { Service } from './service.ts';

/** Clocks in a well-run network differ by less. */
const WORTH_A_WARNING_MS = 5 * 60_000;
/** A clock as wrong as this would decide what is final. */
const UNTRUSTED_MS = 60 * 60_000;

type SkewSource = Pick<Service, 'clockSkewMs'>;

export type MachineClock = ReturnType<typeof machineClock>;

export function machineClock(service: SkewSource, asOf: Date | null, emit: Emit) {
  let isWarned = false;
  return {
    /**
     * Throws `CLOCK_UNTRUSTED` if the clock is off by an hour or more, and warns once of minutes. Called often, because the
     * clock may be changed during a run.
     */
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
      if (!isWarned) emit(warningEvent('CLOCK_OFF', message));
      isWarned = true;
    },
  };
}

/** Returns the current instant if the newest answer agrees with it to within the hour. */
export function confirmedNow(service: SkewSource): Date | null {
  const skewMs = service.clockSkewMs();
  return skewMs !== null && Math.abs(skewMs) < UNTRUSTED_MS ? new Date() : null;
}
