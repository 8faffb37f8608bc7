/**
 * A call to one API: as many tries as its setbacks allow. undici's own retries have no jitter, cut `Retry-After` short, skip
 * time-outs and resume with `Range`.
 */

import type { Dispatcher } from 'undici';

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { readStart } from './body.ts';
import { type Clock, retryAfterMs, statedAt, waitMs } from './clock.ts';
import { originWords, serviceWords } from './error-words.ts';
import {
  type WireAnswer,
  type WireRequest,
  endpointOf,
  exchange,
  type WireTally,
} from './exchange.ts';
import { Lane } from './lane.ts';
import { areUsedUp, kindOf, LATER, policies, Setback, type SetbackKind } from './setback.ts';

const TRIES_WHEN_SLOW = 3;
/** Retries of a run's calls to one API: this many rounds of its concurrency, and one more for every few successes … */
const ROUNDS = 4;
const SUCCESSES_PER_RETRY = 5;
/** … but at least this many, so that three calls may fail all their tries. */
const MIN_RETRIES = 15;

export interface ChannelSettings {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly isDeadlineFixed: boolean;
  readonly concurrency: number;
  /** Aborts, with the failure as its reason, if the credential is refused. */
  readonly refused: AbortController;
}

export interface Sending extends Partial<Pick<WireRequest, 'method' | 'body' | 'triesWhenSlow'>> {
  readonly contentType?: string;
  /** Whether failures count as those of a service that is down. */
  readonly isCounted?: boolean;
}

export interface Wire {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Of reports. The budget of retries depends on it. */
  readonly maxConcurrency: number;
  readonly maxStartsPerSecond: number;
  readonly tally: WireTally;
  /** Aborts when the connection is closed. */
  readonly life: AbortSignal;
}

/** Called once a try, so that it must start from the beginning. */
export type Reader<T> = (answer: WireAnswer, verdict: 'answer' | 'empty') => Promise<T>;

export class Channel {
  readonly origin: string;
  readonly #wire: Wire;
  readonly #lane: Lane;
  readonly #prefix: string;
  readonly #settings: ChannelSettings;
  #answered = 0;
  #retries = 0;

  constructor(wire: Wire, settings: ChannelSettings) {
    const { origin, pathname } = new URL(settings.address);
    this.#wire = wire;
    this.#lane = new Lane({ ...wire, origin, maxConcurrency: settings.concurrency });
    this.origin = origin;
    this.#prefix = pathname.replace(/\/+$/, '');
    this.#settings = settings;
  }

  get peak() {
    return this.#lane.peak;
  }

  targetOf(path: string) {
    return `${this.#prefix}${path}`;
  }

  /** Throws the signal's reason, or a `Failure`: what `read` throws, or one whose cause is the last `Setback`. */
  async request<T>(
    target: string,
    signal: AbortSignal,
    read: Reader<T>,
    sending: Sending = {},
  ): Promise<T> {
    const { method = 'GET', contentType, body = null, triesWhenSlow = TRIES_WHEN_SLOW } = sending;
    const { isCounted = true } = sending;
    const { deadlineMs, isDeadlineFixed, refused, headers: usual } = this.#settings;
    const headers = contentType === undefined ? usual : { ...usual, 'content-type': contentType };
    const { origin } = this;
    const limits = { deadlineMs, isDeadlineFixed, triesWhenSlow };
    const request = { method, origin, target, headers, body, ...limits };
    const { tally, clock, emit, life } = this.#wire;
    const inFlight = AbortSignal.any([signal, life]);
    // A refused credential cancels waiting calls, not those that are already being answered.
    const queued = AbortSignal.any([inFlight, refused.signal]);
    const endpoint = endpointOf(request);
    const kinds: SetbackKind[] = [];
    let doubt: Setback | null = null;
    const waited = async <Value>(wait: Promise<Value>): Promise<Value> =>
      wait.catch((reason: unknown) => {
        throw doubt === null || reason instanceof Failure
          ? reason
          : failureOf(doubt, request, kinds);
      });
    for (;;) {
      const release = await waited(this.#lane.enter(queued));
      let setback: Setback;
      tally.requests += 1;
      try {
        const value = await exchange(this.#wire, request, inFlight, async (answer) => {
          const now = clock.now();
          const statedNow = statedAt(answer.header('date'), answer.header('age'));
          if (statedNow !== null) tally.skewMs = statedNow - now;
          return read(answer, await judge(request, answer, statedNow ?? now));
        });
        release('answered');
        this.#answered += 1;
        tally.lastSetback = null;
        return value;
      } catch (error) {
        if (!(error instanceof Setback)) {
          // Any other error than a failure says nothing about the service.
          release(error instanceof Failure ? 'alive' : 'unclear');
          throw error;
        }
        setback = error;
        kinds.push(error.kind);
        if (method !== 'GET' && policies[error.kind].effect === 'possible') doubt = error;
        tally.lastSetback = `${endpoint} ${error.message}`;
        const failure = this.#lastFailure(error, request, kinds);
        // Before the slot passes to another waiting call.
        if (failure?.code === 'CREDENTIALS_REFUSED') refused.abort(failure);
        const { result } = policies[error.kind];
        release(result === 'outage' && !isCounted ? 'unclear' : result, error.because);
        if (failure !== null) throw failure;
      }
      tally.retries += 1;
      this.#retries += 1;
      const tries = kinds.length;
      const { kind, because, details } = setback;
      const requestedMs = details.retryAfterMs ?? null;
      const isOverload = policies[kind].result === 'overloaded';
      const ms = waitMs({ tries, requestedMs, isOverload, random: clock.random() });
      emit({ type: 'request_retried', endpoint, attempt: tries, because, waitMs: ms });
      await waited(clock.sleep(ms, queued));
    }
  }

  #lastFailure(setback: Setback, request: WireRequest, kinds: readonly SetbackKind[]) {
    const { maxConcurrency } = this.#wire;
    const isEffective = policies[setback.kind].effect === 'possible' && request.method === 'POST';
    if (isEffective || areUsedUp(kinds, request.triesWhenSlow))
      return failureOf(setback, request, kinds);
    const budget =
      Math.max(MIN_RETRIES, ROUNDS * maxConcurrency) +
      Math.floor(this.#answered / SUCCESSES_PER_RETRY);
    if (this.#retries < budget) return null;
    const afterword = `; the budget of ${budget} retries for this API was used up`;
    return failureOf(setback, request, kinds, afterword);
  }
}

function failureOf(
  setback: Setback,
  request: WireRequest,
  { length: attempts }: readonly SetbackKind[],
  afterword = '',
) {
  const { kind, because, message, details } = setback;
  const { code, hint, tries } = policies[kind];
  const { origin, target, isDeadlineFixed } = request;
  const endpoint = endpointOf(request);
  const bytes = origin.length + target.length;
  const where = kind === 'too long' ? `, an address of ${bytes} bytes,` : '';
  const count = attempts === 1 || tries === 1 ? '' : ` (try ${attempts})`;
  return new Failure(code, `${endpoint}${where} ${message}${count}${afterword}`, {
    facts: {
      origin,
      endpoint,
      status: details.status ?? null,
      attempts,
      because,
      ...details.facts,
    },
    hint: kind === 'late' && isDeadlineFixed ? LATER : hint,
    cause: setback,
  });
}

/** No reason needs more, and a proxy may send an endless page. */
export const MAX_ERROR_BODY_BYTES = 64 * 1024;

async function judge(
  { origin }: WireRequest,
  answer: WireAnswer,
  answeredAt: number,
): Promise<'answer' | 'empty'> {
  const { status } = answer;
  if (status === 200 || status === 201) return 'answer';
  if (status === 204) return 'empty';
  const kind = kindOf(status);
  if (policies[kind].code === 'SOURCE_REDIRECTED') {
    // Only the origin: path and query of a sign-in redirect may carry credentials.
    const location = answer.header('location') ?? '';
    const isAddress = location !== '' && URL.canParse(location, origin);
    const target = isAddress ? originWords(new URL(location, origin)) : 'nowhere';
    const message = `was redirected to ${target} (${status})`;
    throw new Setback(kind, String(status), message, { status, facts: { target } });
  }
  const response = serviceWords((await readStart(answer, MAX_ERROR_BODY_BYTES)).text);
  const words = response === '' ? ' without a reason' : `: ${response}`;
  throw new Setback(kind, String(status), `was answered ${status}${words}`, {
    status,
    retryAfterMs: retryAfterMs(answer.header('retry-after'), answeredAt),
    facts: { response },
  });
}
