/** Which nights a run happened on: consecutive ones, less some by chance and an outage. Pure. */

import { addDays, startOfDayAt, UTC, type Day } from '../../../src/model/calendar.ts';
import { fraction, mix } from '../../../src/simulator/world/hash.ts';

export interface NightsRequest {
  /** The first run is in the night after it. */
  readonly firstDay: Day;
  /** Nights in a row, whether a run happens on them or not. */
  readonly nights: number;
  readonly outage: { readonly fromNight: number; readonly nights: number };
  /** Chance of a night outside the outage to see no run. */
  readonly shareSkipped: number;
  readonly seed: number;
}

const EARLIEST_HOUR = 3;
const HOURS_OF_START = 3;
const MS_PER_HOUR = 3_600_000;

/** The instants of the runs, in order; each begins at some minute between 03:00 and 06:00 UTC. The first always happens. */
export function runNights({ firstDay, nights, outage, shareSkipped, seed }: NightsRequest): Date[] {
  return Array.from({ length: nights }, (_, night) => {
    const isOut = night >= outage.fromNight && night < outage.fromNight + outage.nights;
    const isSkipped = night > 0 && fraction(mix(seed, night)) < shareSkipped;
    if (isOut || isSkipped) return [];
    const hour = EARLIEST_HOUR + HOURS_OF_START * fraction(mix(mix(seed, 1), night));
    return [new Date(startOfDayAt(addDays(firstDay, night + 1), UTC).getTime() + Math.floor(hour * MS_PER_HOUR))];
  }).flat();
}
