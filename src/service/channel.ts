/** One API of the service: its address, headers, lane and deadline; every call on it differs in the rest only. */

import type { Secret } from '../config/secret.ts';
import type { Ask } from './exchange.ts';
import { call, type Lane, type Reader, type Wire } from './retry.ts';
import type { SetbackKind } from './setback.ts';

/** Tries of a small call that the service is too slow for. */
const TRIES_WHEN_SLOW = 3;

export interface ChannelSettings {
  /** Configured address; a path in it stands before every target. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Those in the headers: no answer may hold one. */
  readonly secrets: readonly Secret[];
  readonly deadlineMs: number;
}

export interface Sending {
  readonly method: 'POST' | 'PATCH';
  readonly contentType: string;
  readonly body: string;
  readonly repeats: 'all' | readonly SetbackKind[];
}

export class Channel {
  readonly #wire: Wire;
  readonly #lane: Lane;
  readonly #settings: ChannelSettings;
  readonly #prefix: string;
  readonly origin: string;

  constructor(wire: Wire, lane: Lane, settings: ChannelSettings) {
    this.#wire = wire;
    this.#lane = lane;
    this.#settings = settings;
    const { origin, pathname } = new URL(settings.address);
    this.origin = origin;
    this.#prefix = pathname.replace(/\/+$/, '');
  }

  /** What it is asked with and no answer may hold. */
  get secrets(): readonly Secret[] {
    return this.#settings.secrets;
  }

  /** The target of a path and query of the interface: the address's own path stands before it. */
  targetOf(path: string): string {
    return `${this.#prefix}${path}`;
  }

  /** Asks for a target. */
  get<T>(target: string, signal: AbortSignal, read: Reader<T>, triesWhenSlow = TRIES_WHEN_SLOW): Promise<T> {
    return this.#call(
      { ...this.#plain(target), method: 'GET', body: null, repeats: 'all', triesWhenSlow },
      signal,
      read,
    );
  }

  /** Sends a body to a target. Throws the bare `Setback` after which it must not be repeated. */
  send<T>(target: string, { contentType, ...sending }: Sending, signal: AbortSignal, read: Reader<T>): Promise<T> {
    const plain = this.#plain(target);
    const headers = { ...plain.headers, 'content-type': contentType };
    return this.#call({ ...plain, ...sending, headers, triesWhenSlow: TRIES_WHEN_SLOW }, signal, read);
  }

  #plain(target: string): Pick<Ask, 'origin' | 'target' | 'headers' | 'deadlineMs'> {
    const { headers, deadlineMs } = this.#settings;
    return { origin: this.origin, target, headers, deadlineMs };
  }

  #call<T>(ask: Ask, signal: AbortSignal, read: Reader<T>): Promise<T> {
    return call(this.#wire, this.#lane, ask, signal, read);
  }
}
