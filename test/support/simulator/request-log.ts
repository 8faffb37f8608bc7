/**
 * What the simulator was asked: a bounded list of requests, counts by endpoint, and how many capped calls ran at once.
 *
 * Promises that no credential is kept: headers are never recorded, and every token there is or was is blanked
 * out of paths and queries.
 */

import type { Endpoint } from '../../../src/simulator/routes.ts';

/** Enough for a whole run's requests in a test; a simulator left running must not grow without bound. */
const MAX_REQUESTS = 10_000;

export interface AskedRequest {
  /** Real clock. */
  readonly at: Date;
  readonly method: string;
  readonly path: string;
  /** Query text without the question mark, as it came. */
  readonly query: string;
  /** Status answered; null while unanswered and for a connection that ended without one. */
  readonly status: number | null;
  /** Whether the request carried the credential its endpoint wants. */
  readonly authorized: boolean;
  /** The request's own content type. */
  readonly contentType: string | null;
}

export interface Asked {
  /** Oldest first, at most 10 000. */
  readonly requests: readonly AskedRequest[];
  readonly counts: Readonly<Record<Endpoint, number>>;
  /** Most simultaneous report and filters-data calls seen, those answered 429 included. */
  readonly peak: number;
  /** Report and filters-data calls not yet answered completely. */
  readonly inFlight: number;
  /** Forgets requests, counts and peak; calls in flight stay counted. */
  reset(): void;
}

export interface RequestLog {
  readonly asked: Asked;
  /** Records a request and returns what notes its status. */
  record(
    endpoint: Endpoint,
    request: Omit<AskedRequest, 'status'>,
    tokens: readonly string[],
  ): (status: number) => void;
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
    get inFlight() {
      return inFlight;
    },
    reset() {
      requests = [];
      counts = { ...noCounts };
      peak = inFlight;
    },
  };

  return {
    asked,
    record(endpoint, request, tokens) {
      const entry = {
        ...request,
        path: withoutTokens(request.path, tokens),
        query: withoutTokens(request.query, tokens),
        status: null,
      };
      const noted: { -readonly [Field in keyof AskedRequest]: AskedRequest[Field] } = entry;
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

function withoutTokens(text: string, tokens: readonly string[]): string {
  return tokens
    .flatMap((token) => [token, encodeURIComponent(token)])
    .filter((token) => token !== '')
    .reduce((clean, token) => clean.replaceAll(token, '***'), text);
}
