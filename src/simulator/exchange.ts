/**
 * One request from its first line to the last byte of its answer: cap, faults, credentials, the endpoint, delivery.
 *
 * Promises that nothing a caller sends takes the simulator down: what is unforeseen is answered 500.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import { answerCampaign } from './campaign.ts';
import type { SpendLedger } from './cost.ts';
import { type Credentials, refusalOf } from './credentials.ts';
import { deliver } from './delivery.ts';
import { errorAnswer } from './error-body.ts';
import { type FaultScript, type HappeningFault, isInstead, isOfAnswer, isWire } from './faults.ts';
import { answerInstead, spoiltAnswer } from './faulty-answer.ts';
import type { LinkStore } from './link-store.ts';
import type { PagingStyle } from './paging.ts';
import { answerFiltersData, answerReport } from './reports.ts';
import type { RequestLog } from './request-log.ts';
import { isCapped, type Route, routeOf } from './routes.ts';
import type { World } from './world/world.ts';

/** No request of the service has a body of this size. */
const MAX_REQUEST_BYTES = 1_048_576;

export interface Account {
  readonly world: World;
  readonly links: LinkStore;
}

/** Everything an exchange needs of the simulator it belongs to. */
export interface Served {
  readonly cap: number;
  readonly answerDelayMs: number;
  readonly gzip: boolean;
  readonly style: PagingStyle;
  readonly credentials: Credentials;
  readonly log: RequestLog;
  readonly script: FaultScript;
  readonly spend: SpendLedger;
  now(): Date;
  /** Position of the next request, from 1. */
  nextOrdinal(): number;
  /** The account a request is for; null for one its caller may not see. */
  accountFor(request: IncomingMessage): Account | null;
}

interface Asking {
  readonly request: IncomingMessage;
  readonly route: Route;
  readonly address: URL;
  readonly ordinal: number;
  readonly body: string;
}

export async function exchange(served: Served, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const closing = new AbortController();
  response.once('close', () => closing.abort());
  try {
    await answerRequest(served, request, response, closing.signal);
  } catch {
    // The connection broke, or its caller sent a body without end: there is nobody left to tell.
    response.destroy();
  }
}

async function answerRequest(
  served: Served,
  request: IncomingMessage,
  response: ServerResponse,
  closed: AbortSignal,
): Promise<void> {
  const method = request.method ?? 'GET';
  const address = addressOf(request);
  const route = routeOf(method, address.pathname);
  const ordinal = served.nextOrdinal();
  const refusal = refusalOf(served.credentials, route.endpoint, request.headers.authorization);
  const noteStatus = served.log.record(
    route.endpoint,
    {
      at: new Date(),
      method,
      path: address.pathname,
      query: address.search.slice(1),
      authorized: refusal === null,
      contentType: request.headers['content-type'] ?? null,
    },
    served.credentials.tokens(),
  );
  const isOverCap = isCapped(route.endpoint) && enter(served, response) > served.cap;
  const body = await readBody(request);
  const send = async (answer: Answer, faults: readonly HappeningFault[]): Promise<void> => {
    noteStatus(answer.status);
    const gzip = served.gzip && acceptsGzip(request);
    await deliver(response, answer, { gzip, wire: faults.find(isWire) ?? null, closed });
  };
  if (isOverCap) {
    await send(errorAnswer(429, 'error_code', `More than ${served.cap} simultaneous requests`), []);
    return;
  }
  const faults = served.script.faultsFor({ method, path: address.pathname, query: address.searchParams, ordinal });
  const asking: Asking = { request, route, address, ordinal, body };
  if (served.answerDelayMs > 0) await sleep(served.answerDelayMs, undefined, { signal: closed });
  const outcome = foreseen(() => outcomeOf(served, asking, refusal, faults));
  if (outcome === 'silence') return;
  if (outcome === 'reset') request.socket.resetAndDestroy();
  else await send(outcome, faults);
}

/** What becomes of a request, before any wire fault. */
function outcomeOf(
  served: Served,
  asking: Asking,
  refusal: Answer | null,
  faults: readonly HappeningFault[],
): Answer | 'silence' | 'reset' {
  const instead = faults.find(isInstead);
  if (instead?.kind === 'reset' && instead.effect === true && refusal === null) endpointAnswer(served, asking);
  if (instead?.kind === 'reset' || instead?.kind === 'silence') return instead.kind;
  const answer =
    instead === undefined ? (refusal ?? endpointAnswer(served, asking)) : answerInstead(instead, asking.address);
  return faults.filter(isOfAnswer).reduce((spoilt, fault) => spoiltAnswer(spoilt, fault, asking), answer);
}

/** The outcome, or for anything thrown on the way to it, by a scripted mutation too, a 500 that tells the reason. */
function foreseen<Outcome>(outcome: () => Outcome): Outcome | Answer {
  try {
    return outcome();
  } catch (thrown) {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return errorAnswer(500, 'text', text);
  }
}

function endpointAnswer(served: Served, { request, route, address, ordinal, body }: Asking): Answer {
  if (route.endpoint === 'unknown') {
    return route.otherMethod
      ? errorAnswer(405, 'error_message', 'Method not allowed')
      : errorAnswer(404, 'error_message', 'Not found');
  }
  const contentType = request.headers['content-type'] ?? null;
  if (route.endpoint === 'cost') return served.spend.submit({ query: address.searchParams, contentType, body });
  const account = served.accountFor(request);
  if (account === null) return errorAnswer(403, 'error_code', 'Not permitted for this account');
  if (route.endpoint === 'report') return answerReport(account.world, { address, ordinal, now: served.now() });
  if (route.endpoint === 'filters_data') return answerFiltersData(account.world, address.searchParams, served.now());
  return answerCampaign({ ...account, style: served.style }, { route, address, contentType, body });
}

/** Counts the call as in flight until its answer was handed over or its connection closed. */
function enter({ log }: Served, response: ServerResponse): number {
  let isIn = true;
  const leave = (): void => {
    if (isIn) log.leave();
    isIn = false;
  };
  response.once('finish', leave);
  response.once('close', leave);
  return log.enter();
}

/** The address as the caller wrote it, so that paging links stay on the origin it knows. */
function addressOf(request: IncomingMessage): URL {
  const origin = `http://${request.headers.host ?? '127.0.0.1'}`;
  const target = request.url ?? '/';
  return URL.canParse(`${origin}${target}`) ? new URL(`${origin}${target}`) : new URL('/', 'http://127.0.0.1');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_REQUEST_BYTES) throw new RangeError(`The request's body passed ${MAX_REQUEST_BYTES} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString();
}

function acceptsGzip(request: IncomingMessage): boolean {
  const accepted = (request.headers['accept-encoding'] ?? '').split(',');
  return accepted.some((coding) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(coding));
}
