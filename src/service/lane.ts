/** Calls that share a limit, a breaker and a credential: reports with filters-data, the campaign API, ad spend. */

import type { Breaker, Passage } from './breaker.ts';
import type { Credential } from './credential.ts';
import type { Pace, Slot } from './pace.ts';

export interface Lane {
  readonly pace: Pace;
  readonly breaker: Breaker;
  readonly credential: Credential;
}

export interface Turn {
  readonly slot: Slot;
  readonly passage: Passage;
}

/**
 * Waits for a turn on the wire. Throws `SOURCE_UNAVAILABLE` when the breaker has given up, and the signal's reason when
 * it aborts.
 */
export async function turn(lane: Lane, signal: AbortSignal): Promise<Turn> {
  for (;;) {
    await lane.breaker.ready(signal);
    const slot = await lane.pace.enter(signal);
    try {
      const passage = lane.breaker.pass();
      if (passage !== null) return { slot, passage };
    } catch (error) {
      slot.leave('failed');
      throw error;
    }
    // The breaker opened while this call stood in line: somebody else is the probe.
    slot.leave('failed');
  }
}
