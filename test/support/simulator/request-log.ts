/** What the simulator was asked: its requests, counts by endpoint, and how many capped calls ran at once; no header of them. */

import type { ServerResponse } from 'node:http';

import { type Endpoint, isCapped } from '../../../src/simulator/routes.ts';

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  /** Query text without the question mark, as it came. */
  readonly query: string;
  /** Status answered; null while unanswered and for a connection that ended without one. */
  readonly status: number | null;
}

const noCounts = {
  report: 0,
  filters_data: 0,
  partners: 0,
  links: 0,
  children: 0,
  create_link: 0,
  update_link: 0,
  cost: 0,
  unknown: 0,
} as const satisfies Record<Endpoint, number>;

export class Asked {
  /** Oldest first. */
  requests: AskedRequest[] = [];
  counts: Record<Endpoint, number> = { ...noCounts };
  /** Most simultaneous report and filters-data calls seen, those answered 429 included. */
  peak = 0;
  #inFlight = 0;

  /** Forgets requests, counts and peak; calls in flight stay counted. */
  reset(): void {
    this.requests = [];
    this.counts = { ...noCounts };
    this.peak = this.#inFlight;
  }

  /** Records a request, in flight until it was answered or its connection closed; returns what notes its status. */
  record(
    endpoint: Endpoint,
    request: Omit<AskedRequest, 'status'>,
    response: ServerResponse,
  ): (status: number) => void {
    const noted: { -readonly [Field in keyof AskedRequest]: AskedRequest[Field] } = {
      ...request,
      status: null,
    };
    this.requests.push(noted);
    this.counts[endpoint] += 1;
    if (isCapped(endpoint)) {
      this.#inFlight += 1;
      this.peak = Math.max(this.peak, this.#inFlight);
      let isIn = true;
      const leave = (): void => {
        if (isIn) this.#inFlight -= 1;
        isIn = false;
      };
      response.once('finish', leave).once('close', leave);
    }
    return (status) => {
      noted.status = status;
    };
  }
}
