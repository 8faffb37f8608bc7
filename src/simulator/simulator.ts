/**
 * The service, simulated on loopback: campaign, reports and ad spend APIs on one port.
 *
 * Hides node:http, credentials, paging styles, the concurrency cap and scripted faults. The world's numbers follow a
 * simulated clock; the HTTP `Date` header follows the real one.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { Failure } from '../errors.ts';
import { createSpendLedger } from './cost.ts';
import { createCredentials } from './credentials.ts';
import { type Account, exchange, type Served } from './exchange.ts';
import { createFaultScript, type FaultRule } from './faults.ts';
import { createLinkStore, type LinkStore } from './link-store.ts';
import type { PagingStyle } from './paging.ts';
import { type Asked, createRequestLog } from './request-log.ts';
import { createWorld, type World, type WorldOptions } from './world/world.ts';

export interface SimulatorOptions {
  /** 0 takes any free port. */
  readonly port: number;
  readonly world: Partial<WorldOptions>;
  /** The simulated instant; null is the real clock. */
  readonly now: Date | null;
  readonly token: string;
  /** The whole Authorization header of the ad spend endpoint. */
  readonly costCredential: string;
  /** Simultaneous report and filters-data calls; one more is answered 429. */
  readonly cap: number;
  readonly answerDelayMs: number;
  /** Compresses answers for callers that accept it. */
  readonly gzip: boolean;
  /** The header that selects the account of `world`; without it another account answers, with another value 403. */
  readonly accountHeader: { readonly name: string; readonly value: string } | null;
  readonly paging: Partial<PagingStyle>;
}

export interface Simulator {
  /** Serves as base_url, reports_url and cost_url alike. */
  readonly url: string;
  readonly port: number;
  readonly world: World;
  now(): Date;
  setNow(at: Date): void;
  /** Resets the token; the old one is answered with a bare 401. */
  setToken(token: string): void;
  /** Adds a fault and returns what removes it. Of several that match one request all apply, in order. */
  script(fault: FaultRule): () => void;
  readonly asked: Asked;
  /** The link tree, to change between two crawls. */
  readonly links: LinkStore;
  /** How often each Cost ID was accepted. */
  readonly acceptedSpend: ReadonlyMap<string, number>;
  /** Drops every connection and resolves once the port is free. */
  close(): Promise<void>;
}

/** Some of the options; what is left out, or undefined, is as by default. */
type Chosen<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

const defaultStyle: PagingStyle = { v2: true, v2Next: 'cursor', v2End: 'null', shortPages: false };

/** Longer than the pauses of any client in a test, so that no idle connection is closed under a request. */
const KEEP_ALIVE_MS = 60_000;

/** Starts a simulator; throws `USAGE_INVALID` when the port cannot be had. */
export async function startSimulator(options: Chosen<SimulatorOptions> = {}): Promise<Simulator> {
  const { port: wanted = 0, now: startsAt = null, cap = 50, answerDelayMs = 0, gzip = true, paging = {} } = options;
  const { token = 'simulator-token', costCredential = 'Partner simulator', accountHeader = null, world = {} } = options;
  const account = createAccount(world);
  const credentials = createCredentials(token, costCredential);
  const log = createRequestLog();
  const script = createFaultScript();
  const spend = createSpendLedger();
  let simulatedNow = startsAt;
  let ordinal = 0;
  const now = (): Date => simulatedNow ?? new Date();
  const served: Served = {
    cap,
    answerDelayMs,
    gzip,
    style: { ...defaultStyle, ...paging },
    credentials,
    log,
    script,
    spend,
    now,
    nextOrdinal: () => (ordinal += 1),
    accountFor: accountChooser({ accountHeader, world }, account),
  };

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void exchange(served, request, response);
  });
  const port = await listen(server, wanted);

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    world: account.world,
    now,
    setNow(at) {
      simulatedNow = at;
    },
    setToken: (token) => credentials.setToken(token),
    script: (rule) => script.add(rule),
    asked: log.asked,
    links: account.links,
    acceptedSpend: spend.accepted,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function createAccount(options: Partial<WorldOptions>): Account {
  const world = createWorld(options);
  return { world, links: createLinkStore(world.links) };
}

function accountChooser(
  { accountHeader, world }: Pick<SimulatorOptions, 'accountHeader' | 'world'>,
  account: Account,
): (request: IncomingMessage) => Account | null {
  if (accountHeader === null) return () => account;
  const first = createAccount({ ...world, seed: account.world.options.seed + 1 });
  return ({ headers }) => {
    const value = headers[accountHeader.name.toLowerCase()];
    if (value === undefined) return first;
    return value === accountHeader.value ? account : null;
  };
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
