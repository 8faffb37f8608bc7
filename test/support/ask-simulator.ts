/** Asks a simulator over real HTTP, one connection per question, and reads the whole answer. */

import { Agent, request } from 'undici';
import type { Simulator } from './simulator/simulator.ts';

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came, not decompressed. */
  readonly bytes: Buffer;
  readonly text: string;
}

/** `path` is a path with its query, or a whole URL; answers are never followed elsewhere. */
export async function ask(simulator: Simulator, path: string, question: Question = {}): Promise<Told> {
  const dispatcher = new Agent({ pipelining: 0, headersTimeout: 5000, bodyTimeout: 5000 });
  try {
    const answer = await request(new URL(path, simulator.url), {
      dispatcher,
      method: question.method ?? 'GET',
      headers: { ...question.headers },
      body: question.body ?? null,
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: answer.headers, bytes, text: bytes.toString() };
  } finally {
    await dispatcher.destroy();
  }
}

/** Asks the reports API with the simulator's default token. */
export function askReports(simulator: Simulator, path: string, question: Question = {}): Promise<Told> {
  return ask(simulator, path, {
    ...question,
    headers: { authorization: 'Bearer simulator-token', ...question.headers },
  });
}

/** Asks the campaign API with the simulator's default token. */
export function askCampaign(simulator: Simulator, path: string, question: Question = {}): Promise<Told> {
  return ask(simulator, path, {
    ...question,
    headers: { authorization: 'Token token=simulator-token', ...question.headers },
  });
}
