/**
 * The simulator as tests want it: with scripted faults, a quirky world, links that change between two crawls, and a log of
 * the requests. It stands before the bundled simulator as its middleware.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { acceptsGzip, bareAnswer, send } from '../../../src/simulator/answer.ts';
import type { LinkStore as PlainLinkStore } from '../../../src/simulator/lists.ts';
import {
  type SomeOf,
  type Exchange,
  type RunningSimulator as PlainSimulator,
  type SimulatorSettings as PlainOptions,
  startSimulator as startPlain,
} from '../../../src/simulator/simulator.ts';
import { closedOnce } from '../closing.ts';
import { asBytes } from './answer.ts';
import {
  answerInstead,
  createFaultScript,
  deliverWithFault,
  type FaultRule,
  isInstead,
  isOfAnswer,
  isWire,
  spoiltAnswer,
} from './faults.ts';
import { changingLinks, type LinkStore } from './links.ts';
import { quirkyAnswer } from './quirks.ts';
import { Asked } from './request-log.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

export interface SimulatorOptions extends Omit<PlainOptions, 'world' | 'middleware'> {
  readonly world: Partial<WorldOptions>;
  readonly answerDelayMs: number;
  /** Compresses answers for callers that accept it. */
  readonly gzip: boolean;
}

export interface Simulator extends Omit<PlainSimulator, 'links'> {
  readonly world: World;
  /** Adds a fault and returns what removes it. Of several that match one request all apply, in order. */
  script(fault: FaultRule): () => void;
  readonly requested: Asked;
  /** How often each Cost ID was accepted. */
  readonly acceptedSpend: ReadonlyMap<string, number>;
  /** The link tree, to change between two crawls. */
  readonly links: LinkStore;
}

export async function startSimulator(options: SomeOf<SimulatorOptions> = {}): Promise<Simulator> {
  const {
    answerDelayMs = 0,
    gzip = true,
    world: worldOptions = {},
    token = 'simulator-token',
    ...rest
  } = options;
  const world = createWorld(worldOptions);
  const script = createFaultScript();
  const requested = new Asked();
  const acceptedSpend = new Map<string, number>();
  const tokens = [token];
  let ordinal = 0;

  const middleware = async (exchange: Exchange): Promise<void> => {
    const { request, response, endpoint, address } = exchange;
    const { method = 'GET', headers } = request;
    ordinal += 1;
    const seen = { method, path: address.pathname, query: address.search.slice(1) };
    const noteStatus = requested.record(endpoint, seen, response);
    if (!gzip) delete headers['accept-encoding'];
    const closing = new AbortController();
    response.once('close', () => closing.abort());
    const faulted = { method, path: address.pathname, query: address.searchParams, ordinal };
    const faults = exchange.isOverCap ? [] : script.faultsFor(faulted);
    const place = { address, ordinal };
    if (answerDelayMs > 0 && !exchange.isOverCap)
      await sleep(answerDelayMs, undefined, { signal: closing.signal });

    const usual = () => {
      const bearer = /(?:^Bearer |token=)(.*)$/.exec(headers.authorization ?? '')?.[1] ?? '';
      if (!exchange.isAuthorized && endpoint !== 'cost' && tokens.slice(0, -1).includes(bearer))
        return bareAnswer(401);
      const answer = exchange.answer();
      if (endpoint === 'cost' && answer.status === 200) {
        const fields = new URLSearchParams([
          ...address.searchParams,
          ...new URLSearchParams(exchange.body),
        ]);
        const costId = fields.get('cost_id') ?? '';
        acceptedSpend.set(costId, (acceptedSpend.get(costId) ?? 0) + 1);
      }
      if (endpoint !== 'report') return answer;
      return quirkyAnswer(answer, world.quirks, (metric) => world.isAdditive(metric), place);
    };
    const instead = faults.find(isInstead);
    if (instead?.kind === 'silence') return;
    if (instead?.kind === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const first = instead === undefined ? usual() : answerInstead(instead, address);
    const answer = asBytes(faults.filter(isOfAnswer).reduce(spoiltAnswer, first));
    const fault = faults.find(isWire);
    noteStatus(answer.status);
    if (fault === undefined || answer.body === null) return send(request, response, answer);
    return deliverWithFault(response, answer, {
      gzip: acceptsGzip(request),
      fault,
      closed: closing.signal,
    });
  };

  const simulator = await startPlain({ ...rest, token, world, middleware });
  return {
    ...simulator,
    close: closedOnce(() => simulator.close()),
    world,
    setToken(next) {
      tokens.push(next);
      simulator.setToken(next);
    },
    script: (rule) => script.add(rule),
    requested,
    acceptedSpend,
    links: changingLinks(simulator.links satisfies PlainLinkStore),
  };
}
