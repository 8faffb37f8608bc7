/** Acts on the verdict: an answer to read passes, anything else is thrown with the service's own words. */

import { Failure, type FailureCode } from '../errors.ts';
import { type Ask, endpointOf } from './ask.ts';
import { retryAfterMs } from './backoff.ts';
import { readHead } from './body-text.ts';
import { toldAt } from './clock.ts';
import { serviceWords } from './error-body.ts';
import type { Answer } from './exchange.ts';
import { Setback, type SetbackKind } from './setback.ts';
import { type Verdict, verdictOn } from './verdict.ts';

/** No reason needs more; a proxy may send an endless page. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

type Setbacks = Extract<Verdict, 'no answer' | 'unavailable' | 'faulty' | 'later' | 'too heavy'>;
type Refusals = Exclude<Verdict, Setbacks | 'answer' | 'empty' | 'redirected'>;

const setbacks: Readonly<Record<Setbacks, SetbackKind>> = {
  'no answer': 'no answer',
  unavailable: 'unavailable',
  faulty: 'faulty',
  later: 'overload',
  'too heavy': 'too heavy',
};

const refusals: Readonly<Record<Refusals, { readonly code: FailureCode; readonly hint: string }>> = {
  refused: {
    code: 'SOURCE_REFUSED',
    hint: 'Correct what the service names; of a slice `ripen check` finds every unknown name.',
  },
  credentials: { code: 'CREDENTIALS_REFUSED', hint: 'Check the credentials: a token that was reset is void at once.' },
  forbidden: { code: 'ACCESS_FORBIDDEN', hint: 'Ask for access to what was requested, or leave it out.' },
  missing: {
    code: 'SOURCE_MISSING',
    hint: 'Check the addresses in the service section, and the app or link that was asked for.',
  },
  unexpected: { code: 'SOURCE_REFUSED', hint: 'Check what answers at the configured address.' },
};

/**
 * Passes an answer to read, or an empty one. Throws a `Setback` for what may be tried again, else `SOURCE_REFUSED`,
 * `CREDENTIALS_REFUSED`, `ACCESS_FORBIDDEN`, `SOURCE_MISSING` or `SOURCE_REDIRECTED`.
 */
export async function judge(ask: Ask, answer: Answer, tries: number, now: number): Promise<'answer' | 'empty'> {
  const verdict = verdictOn(answer.status);
  switch (verdict) {
    case 'answer':
    case 'empty':
      return verdict;
    case 'redirected':
      throw redirection(ask, answer, tries);
    case 'no answer':
    case 'unavailable':
    case 'faulty':
    case 'later':
    case 'too heavy':
      throw await setbackOf(setbacks[verdict], answer, now);
    case 'refused':
    case 'credentials':
    case 'forbidden':
    case 'missing':
    case 'unexpected':
      break;
  }
  const { code, hint } = refusals[verdict];
  throw await refusal(code, hint, ask, answer, tries);
}

async function refusal(code: FailureCode, hint: string, ask: Ask, answer: Answer, tries: number): Promise<Failure> {
  const { said, parameter } = serviceWords(await readHead(answer, MAX_ERROR_BODY_BYTES));
  const { origin } = ask;
  const facts = { origin, endpoint: endpointOf(ask), status: answer.status, attempts: tries, said, parameter };
  return new Failure(code, `${endpointOf(ask)} was answered ${answer.status}${quoted(said)}`, { facts, hint });
}

async function setbackOf(kind: SetbackKind, answer: Answer, now: number): Promise<Setback> {
  const { said } = serviceWords(await readHead(answer, MAX_ERROR_BODY_BYTES));
  return new Setback(kind, String(answer.status), `was answered ${answer.status}${quoted(said)}`, {
    status: answer.status,
    retryAfterMs: retryAfterMs(
      answer.header('retry-after'),
      toldAt(answer.header('date'), answer.header('age')) ?? now,
    ),
  });
}

function redirection(ask: Ask, answer: Answer, tries: number): Failure {
  // Only the origin: path and query of a sign-in redirect may carry credentials.
  const target = originOf(answer.header('location') ?? '', ask.origin);
  return new Failure('SOURCE_REDIRECTED', `${endpointOf(ask)} was redirected to ${target} (${answer.status})`, {
    facts: { origin: ask.origin, endpoint: endpointOf(ask), status: answer.status, attempts: tries, target },
    hint: 'Configure the address the service answers at; redirects are not followed.',
  });
}

function originOf(location: string, base: string): string {
  if (location === '' || !URL.canParse(location, base)) return 'nowhere';
  return new URL(location, base).origin;
}

function quoted(said: string): string {
  return said === '' ? ' without a reason' : `: ${said}`;
}
