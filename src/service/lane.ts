/** Calls that share a limit, a breaker and a credential: reports with filters-data, the campaign API, ad spend. */

import type { Failure } from '../errors.ts';
import type { Breaker, Passage } from './breaker.ts';
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

export class Credential {
  readonly #controller = new AbortController();

  /** Aborts, with the failure as its reason, when the credential is refused. */
  get standing(): AbortSignal {
    return this.#controller.signal;
  }

  /** Takes the service's word that the credential is void; the first such failure is what later calls throw. */
  refuse(failure: Failure): void {
    this.#controller.abort(failure);
  }
}
