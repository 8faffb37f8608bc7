/**
 * Simulates the service on loopback. Its numbers follow a simulated clock, the HTTP `Date` header the real one. An unexpected
 * error is answered with 500.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import {
  type SimulatedAnswer,
  bareAnswer,
  bytesAnswer,
  documentAnswer,
  errorAnswer,
  send,
} from './answer.ts';
import { answerCampaign, type CampaignRequest } from './campaign.ts';
import { createLinkStore, type LinkStore } from './lists.ts';
import { type Credentials, type Endpoint, isCapped, refusalOf, routeOf } from './routes.ts';
import { RequestRefused } from './world/parameters.ts';
import { createWorld, type World, type WorldOptions } from './world/world.ts';

export interface SimulatorSettings extends Credentials {
  /** 0 for any free port. */
  readonly port: number;
  readonly world: World | Partial<WorldOptions>;
  /** Default: the real clock. */
  readonly now: Date | null;
  readonly middleware: (exchange: Exchange) => Promise<void>;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly endpoint: Endpoint;
  /** As the caller wrote it, so that paging links keep its origin. */
  readonly address: URL;
  readonly isAuthorized: boolean;
  readonly isOverCap: boolean;
  readonly body: string;
  answer(): SimulatedAnswer;
}

export interface RunningSimulator {
  /** For base_url, reports_url and cost_url alike. */
  readonly url: string;
  readonly port: number;
  now(): Date;
  setNow(at: Date): void;
  setToken(token: string): void;
  readonly links: LinkStore;
  /** With which it was started. */
  readonly credentials: Credentials;
  close(): Promise<void>;
}

export type SomeOf<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/** Longer than a client pauses, so that no connection is closed as a request arrives. */
const KEEP_ALIVE_MS = 60_000;
/** Reports and catalogs at once. More are answered with 429. */
const CAP = 50;

/** Throws `USAGE_INVALID` if it cannot listen on the port. */
export async function startSimulator(
  options: SomeOf<SimulatorSettings> = {},
): Promise<RunningSimulator> {
  const { port: wanted = 0, world: chosen = {} } = options;
  // Any text would do. This one does not look like a secret, and is easy to find where it should not be.
  const { token: firstToken = 'simulator-token', costCredential = 'Partner simulator' } = options;
  const { middleware = (usual) => send(usual.request, usual.response, usual.answer()) } = options;
  const world = 'report' in chosen ? chosen : createWorld(chosen);
  const links = createLinkStore(world.links);
  let token = firstToken;
  let simulatedNow = options.now ?? null;
  let inFlight = 0;
  const now = () => simulatedNow ?? new Date();

  const endpointAnswer = (submitted: CampaignRequest): SimulatedAnswer => {
    const { endpoint, address } = submitted;
    if (endpoint === 'unknown') return errorAnswer(404, 'error_message', 'Not found');
    if (endpoint === 'cost') return submitSpend(submitted);
    if (endpoint === 'report') {
      const report = world.report(address.searchParams, now());
      return report === null ? bareAnswer(204) : documentAnswer({ ...report });
    }
    if (endpoint === 'filters_data')
      return documentAnswer({ ...world.filtersData(address.searchParams, now()) });
    return answerCampaign({ world, links }, submitted);
  };

  const exchange = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', url = '/', headers } = request;
    const address = new URL(`http://${headers.host ?? '127.0.0.1'}${url}`);
    const route = routeOf(method, address.pathname);
    const { endpoint } = route;
    if (isCapped(endpoint)) {
      inFlight += 1;
      response.once('close', () => (inFlight -= 1));
    }
    const isOverCap = isCapped(endpoint) && inFlight > CAP;
    const refusal = refusalOf({ token, costCredential }, endpoint, headers.authorization);
    const isAuthorized = refusal === null;
    const [contentType = ''] = (headers['content-type'] ?? '').split(';');
    const body = Buffer.concat(await request.toArray()).toString();
    const answer = (): SimulatedAnswer => {
      if (isOverCap)
        return errorAnswer(429, 'error_code', `More than ${CAP} simultaneous requests`);
      try {
        return refusal ?? endpointAnswer({ ...route, address, contentType, body });
      } catch (thrown) {
        if (!(thrown instanceof RequestRefused)) throw thrown;
        return documentAnswer(thrown.body, thrown.status);
      }
    };
    await middleware({
      request,
      response,
      endpoint,
      address,
      isAuthorized,
      isOverCap,
      body,
      answer,
    });
  };

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    exchange(request, response).catch(async (thrown: unknown) => {
      // No answer can be sent if the connection broke.
      if (response.headersSent || response.destroyed) return response.destroy();
      const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      return send(request, response, bytesAnswer(text, 'text/plain; charset=utf-8', 500));
    });
  });
  try {
    const listening = once(server, 'listening');
    server.listen(wanted, '127.0.0.1');
    await listening;
  } catch (cause) {
    throw new Failure('USAGE_INVALID', `The simulator could not listen on 127.0.0.1:${wanted}`, {
      facts: { port: wanted },
      hint: 'Choose another port, or 0 for any free one.',
      cause,
    });
  }
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : wanted;

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    now,
    setNow: (at) => void (simulatedNow = at),
    setToken: (next) => void (token = next),
    links,
    credentials: { token: firstToken, costCredential },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const currencies = new Set(Intl.supportedValuesOf('currency'));

const spendFields = z.object({
  cost_type: z.string().min(1),
  cost_currency: z.string().refine((code) => currencies.has(code), 'is not an ISO 4217 code'),
  cost_id: z.string().min(12).max(256),
  tag: z.string().min(1).max(128),
  cost_amount: z
    .string()
    .regex(/^\d+(\.\d+)?$/)
    .optional(),
});

function submitSpend({ address, contentType, body }: CampaignRequest) {
  if (body !== '' && contentType !== 'application/x-www-form-urlencoded') {
    return errorAnswer(400, 'error', 'The body is not form-encoded');
  }
  const parameters = new URLSearchParams([...address.searchParams, ...new URLSearchParams(body)]);
  const fields = spendFields.safeParse(Object.fromEntries(parameters));
  if (!fields.success) return errorAnswer(400, 'error', z.prettifyError(fields.error));
  return bytesAnswer('Success', 'text/plain; charset=utf-8');
}
