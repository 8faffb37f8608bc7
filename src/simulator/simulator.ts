/**
 * The service, simulated on loopback: campaign, reports and ad spend APIs on one port.
 *
 * Hides node:http, credentials, paging styles and the concurrency cap. The world's numbers follow a simulated clock; the
 * HTTP `Date` header follows the real one. Nothing that a caller sends stops the simulator: what is unforeseen is
 * answered 500.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Failure } from '../errors.ts';
import { type SimulatedAnswer, bareAnswer, bytesAnswer, documentAnswer, errorAnswer, send } from './answer.ts';
import { answerCampaign } from './campaign.ts';
import { createLinkStore, type LinkStore } from './lists.ts';
import { type Endpoint, isCapped, refusalOf, type Route, routeOf } from './routes.ts';
import { createWorld, RequestRefused, type World, type WorldOptions } from './world/world.ts';

export interface SimulatorSettings {
  /** 0 takes any free port. */
  readonly port: number;
  /** A world, or the options of one. */
  readonly world: World | Partial<WorldOptions>;
  /** The simulated instant; null is the real clock. */
  readonly now: Date | null;
  readonly token: string;
  /** The whole Authorization header of the ad spend endpoint. */
  readonly costCredential: string;
  /** Simultaneous report and filters-data calls; one more is answered 429. */
  readonly cap: number;
  /** Stands between each request and its answer, to observe it or to replace it. */
  readonly middleware: (exchange: Exchange) => Promise<void>;
}

/** A request, and what the service makes of it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly endpoint: Endpoint;
  /** As the caller wrote it, so that paging links stay on the origin it knows. */
  readonly address: URL;
  /** Whether the request carries the credential its endpoint wants. */
  readonly isAuthorized: boolean;
  /** Whether too many calls are in flight; such a call is answered 429. */
  readonly isOverCap: boolean;
  /** Carries the request out and returns the service's own answer. */
  answer(): SimulatedAnswer;
}

export interface RunningSimulator {
  /** Serves as base_url, reports_url and cost_url alike. */
  readonly url: string;
  readonly port: number;
  readonly world: World;
  now(): Date;
  setNow(at: Date): void;
  /** Resets the token; requests with the old one are refused. */
  setToken(token: string): void;
  readonly links: LinkStore;
  /** How often each Cost ID was accepted. */
  readonly acceptedSpend: ReadonlyMap<string, number>;
  /** Drops every connection and resolves once the port is free. */
  close(): Promise<void>;
}

/** Some of the options; what is left out, or undefined, is as by default. */
export type SomeOf<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/** Longer than a client pauses between two requests, so that no idle connection is closed under one. */
const KEEP_ALIVE_MS = 60_000;
/** No request of the service has a body of this size. */
const MAX_REQUEST_BYTES = 1_048_576;

/** Starts a simulator; throws `USAGE_INVALID` when the port cannot be had. */
export async function startSimulator(options: SomeOf<SimulatorSettings> = {}): Promise<RunningSimulator> {
  const { port: wanted = 0, world: asked = {}, cap = 50 } = options;
  const { token: firstToken = 'simulator-token', costCredential = 'Partner simulator' } = options;
  const { middleware = (usual) => send(usual.request, usual.response, usual.answer()) } = options;
  const world = 'report' in asked ? asked : createWorld(asked);
  const campaign = { world, links: createLinkStore(world.links) };
  const spend = createSpendLedger();
  let token = firstToken;
  let simulatedNow = options.now ?? null;
  let inFlight = 0;
  const now = (): Date => simulatedNow ?? new Date();

  const endpointAnswer = (route: Route, address: URL, request: IncomingMessage, body: string): SimulatedAnswer => {
    const contentType = request.headers['content-type'] ?? null;
    if (route.endpoint === 'unknown') return errorAnswer(404, 'error_message', 'Not found');
    if (route.endpoint === 'cost') return spend.submit({ query: address.searchParams, contentType, body });
    if (route.endpoint === 'report') {
      const report = world.report(address.searchParams, now());
      return report === null ? bareAnswer(204) : documentAnswer({ ...report });
    }
    if (route.endpoint === 'filters_data') return documentAnswer({ ...world.filtersData(address.searchParams, now()) });
    return answerCampaign(campaign, { route, address, contentType, body });
  };

  const exchange = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const address = addressOf(request);
    const route = routeOf(request.method ?? 'GET', address.pathname);
    const { endpoint } = route;
    if (isCapped(endpoint)) {
      inFlight += 1;
      response.once('close', () => (inFlight -= 1));
    }
    const isOverCap = isCapped(endpoint) && inFlight > cap;
    const refusal = refusalOf({ token, costCredential }, endpoint, request.headers.authorization);
    const body = await readBody(request);
    const answer = (): SimulatedAnswer => {
      if (isOverCap) return errorAnswer(429, 'error_code', `More than ${cap} simultaneous requests`);
      try {
        return refusal ?? endpointAnswer(route, address, request, body);
      } catch (thrown) {
        if (!(thrown instanceof RequestRefused)) throw thrown;
        return documentAnswer(thrown.body, thrown.status);
      }
    };
    await middleware({ request, response, endpoint, address, isAuthorized: refusal === null, isOverCap, answer });
  };

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    exchange(request, response).catch(async (thrown: unknown) => {
      // Nobody is left to answer if the connection broke, or if its caller sent a body without end.
      if (response.headersSent || response.destroyed) return response.destroy();
      const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      return send(request, response, bytesAnswer(text, 'text/plain; charset=utf-8', 500));
    });
  });
  const port = await listen(server, wanted);

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    world,
    now,
    setNow: (at) => void (simulatedNow = at),
    setToken: (next) => void (token = next),
    links: campaign.links,
    acceptedSpend: spend.accepted,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

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
    if (size > MAX_REQUEST_BYTES) {
      request.destroy();
      break;
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString();
}

async function listen(server: ReturnType<typeof createServer>, port: number): Promise<number> {
  try {
    const listening = once(server, 'listening');
    server.listen(port, '127.0.0.1');
    await listening;
  } catch (cause) {
    throw new Failure('USAGE_INVALID', `The simulator could not listen on 127.0.0.1:${port}`, {
      facts: { port },
      hint: 'Choose another port, or 0 for any free one.',
      cause,
    });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** service-interface: Limits. */
const COST_ID_LENGTH = { min: 12, max: 256 } as const;
const MAX_TAG_LENGTH = 128;

const requiredNames = ['cost_type', 'cost_currency', 'cost_id', 'tag'] as const;
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

interface SpendSubmission {
  readonly query: URLSearchParams;
  /** The request's content type and body; an empty body leaves the query alone to speak. */
  readonly contentType: string | null;
  readonly body: string;
}

interface SpendLedger {
  /** How often each Cost ID was accepted. */
  readonly accepted: ReadonlyMap<string, number>;
  submit(submission: SpendSubmission): SimulatedAnswer;
}

/** The ad spend endpoint: its documented rules, and which Cost IDs it accepted how often. */
function createSpendLedger(): SpendLedger {
  const accepted = new Map<string, number>();
  return {
    accepted,
    submit({ query, contentType, body }) {
      if (body !== '' && !(contentType ?? '').startsWith('application/x-www-form-urlencoded')) {
        return errorAnswer(400, 'error', 'The body is not form-encoded');
      }
      const fields = new URLSearchParams([...query, ...new URLSearchParams(body)]);
      const problem = problemWith(fields);
      if (problem !== null) return errorAnswer(400, 'error', problem);
      const costId = fields.get('cost_id') ?? '';
      accepted.set(costId, (accepted.get(costId) ?? 0) + 1);
      return bytesAnswer('Success', 'text/plain; charset=utf-8');
    },
  };
}

function problemWith(fields: URLSearchParams): string | null {
  const missing = requiredNames.filter((name) => (fields.get(name) ?? '') === '');
  if (missing.length > 0) return `Missing parameter: ${missing.join(', ')}`;
  const costIdLength = (fields.get('cost_id') ?? '').length;
  if (costIdLength < COST_ID_LENGTH.min || costIdLength > COST_ID_LENGTH.max) {
    return `cost_id has ${costIdLength} characters, not ${COST_ID_LENGTH.min} to ${COST_ID_LENGTH.max}`;
  }
  const tagLength = (fields.get('tag') ?? '').length;
  if (tagLength > MAX_TAG_LENGTH) return `tag has ${tagLength} characters, more than ${MAX_TAG_LENGTH}`;
  if (!currencies.has(fields.get('cost_currency') ?? '')) return 'cost_currency is not an ISO 4217 code';
  const amount = fields.get('cost_amount');
  if (amount !== null && !/^\d+(\.\d+)?$/.test(amount)) return 'cost_amount is not a number';
  return null;
}
