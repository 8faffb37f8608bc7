/** What the simulator was asked: a bounded list of requests, counts by endpoint, and how many capped calls ran at once; no header of them. */

import type { Endpoint } from '../../../src/simulator/routes.ts';

/** Enough for a whole run's requests in a test. */
const MAX_REQUESTS = 10_000;

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  /** Query text without the question mark, as it came. */
  readonly query: string;
  /** Status answered; null while unanswered and for a connection that ended without one. */
  readonly status: number | null;
}

export interface Asked {
  /** Oldest first, at most 10 000. */
  readonly requests: readonly AskedRequest[];
  readonly counts: Readonly<Record<Endpoint, number>>;
  /** Most simultaneous report and filters-data calls seen, those answered 429 included. */
  readonly peak: number;
  /** Forgets requests, counts and peak; calls in flight stay counted. */
  reset(): void;
}

export interface RequestLog {
  readonly asked: Asked;
  /** Records a request and returns what notes its status. */
  record(endpoint: Endpoint, request: Omit<AskedRequest, 'status'>): (status: number) => void;
  /** Counts a capped call as in flight and returns how many there are now. */
  enter(): number;
  leave(): void;
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

export function createRequestLog(): RequestLog {
  let requests: AskedRequest[] = [];
  let counts: Record<Endpoint, number> = { ...noCounts };
  let peak = 0;
  let inFlight = 0;

  const asked: Asked = {
    get requests() {
      return requests;
    },
    get counts() {
      return counts;
    },
    get peak() {
      return peak;
    },
    reset() {
      requests = [];
      counts = { ...noCounts };
      peak = inFlight;
    },
  };

  return {
    asked,
    record(endpoint, request) {
      const noted: { -readonly [Field in keyof AskedRequest]: AskedRequest[Field] } = { ...request, status: null };
      requests.push(noted);
      if (requests.length > MAX_REQUESTS) requests.shift();
      counts[endpoint] += 1;
      return (status) => {
        noted.status = status;
      };
    },
    enter() {
      inFlight += 1;
      peak = Math.max(peak, inFlight);
      return inFlight;
    },
    leave() {
      inFlight -= 1;
    },
  };
}
