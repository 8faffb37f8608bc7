/** Asks a simulator over real HTTP, one connection per question, and reads the whole answer. */

import { request } from 'undici';

import type { Simulator } from './simulator/simulator.ts';

interface Question {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Told {
  readonly status: number;
  readonly text: string;
}

export async function ask(
  simulator: Simulator,
  path: string,
  question: Question = {},
): Promise<Told> {
  const { method = 'GET', headers = {}, body = null } = question;
  const answer = await request(new URL(path, simulator.url), {
    method,
    headers,
    body,
    reset: true,
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

const withHeader = ({ headers, ...question }: Question, authorization: string): Question => ({
  ...question,
  headers: { authorization, ...headers },
});

/** Asks the reports API with the simulator's default token. */
export const askReports: typeof ask = (simulator, path, question) =>
  ask(simulator, path, withHeader(question ?? {}, 'Bearer simulator-token'));

/** Asks the campaign API with the simulator's default token. */
export const askCampaign: typeof ask = (simulator, path, question) =>
  ask(simulator, path, withHeader(question ?? {}, 'Token token=simulator-token'));
