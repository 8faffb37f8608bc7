/**
 * What to do with an answer, by its status. An answer to read passes; all else is thrown with the service's own words.
 *
 * Sources: service-interface "Errors". 422 and 410 are the usual siblings of 400 and 404. 408 means by definition: repeat the
 * request (RFC 9110). A proxy reports 499 if its client did not wait, a content network 524 if the server behind it took too
 * long. Other statuses are judged by class: 5xx, and 2xx without an answer, are tried again; the rest fails as `unexpected`.
 */

import { Failure, type FailureCode } from '../errors.ts';
import { retryAfterMs, statedAt } from './clock.ts';
import { serviceWords } from './error-words.ts';
import { type WireAnswer, type WireRequest, endpointOf } from './exchange.ts';
import { readStart } from './plain-text.ts';
import { originWords, Setback, type SetbackKind } from './setback.ts';

const refusals = {
  refused: {
    code: 'SOURCE_REFUSED',
    hint: 'Correct what the service names; `ripen check` finds every unknown name of a slice.',
  },
  credentials: {
    code: 'CREDENTIALS_REFUSED',
    hint: 'Check the credentials: a token becomes invalid as soon as it is reset.',
  },
  forbidden: {
    code: 'ACCESS_FORBIDDEN',
    hint: 'Ask for access to what was requested, or leave it out.',
  },
  missing: {
    code: 'SOURCE_MISSING',
    hint: 'Check the addresses in the service section, and the requested app or link.',
  },
  'too long': {
    code: 'SOURCE_REFUSED',
    hint: 'Set service.max_url_bytes below the length of this address, so that metrics are requested in smaller batches.',
  },
  unexpected: {
    code: 'SOURCE_REFUSED',
    hint: 'Check which server answers at the configured address.',
  },
} as const satisfies Readonly<
  Record<string, { readonly code: FailureCode; readonly hint: string }>
>;

/** An answer to read, a valid one without content, a redirect, a setback that another try may fix, or a refusal. */
type Verdict = 'answer' | 'empty' | 'redirected' | SetbackKind | keyof typeof refusals;

const verdicts: readonly (readonly [Verdict, readonly number[]])[] = [
  ['answer', [200, 201]],
  ['empty', [204]],
  ['redirected', [301, 302, 303, 307, 308]],
  ['refused', [400, 422]],
  ['credentials', [401]],
  ['forbidden', [403]],
  ['missing', [404, 410]],
  ['too long', [414, 431]],
  ['overload', [429]],
  ['no answer', [499]],
  ['faulty', [408]],
  ['too heavy', [504, 524]],
];

/** The verdict on a status; by its class if it is not listed. */
export function verdictOn(status: number): Verdict {
  const [verdict] = verdicts.find(([, statuses]) => statuses.includes(status)) ?? [];
  if (verdict !== undefined) return verdict;
  // A server behind a content network may have received the request (520 …): no refusal.
  if (status >= 500) return 'faulty';
  return status >= 200 && status < 300 ? 'no answer' : 'unexpected';
}

/** Whether a redirected write may have had an effect; 307 and 308 mean: send the same request elsewhere (RFC 9110). */
export const isRedirectedAfter = (status: number): boolean => [301, 302, 303].includes(status);

/** No reason needs more; a proxy may send an endless page. */
export const MAX_ERROR_BODY_BYTES = 64 * 1024;

const isRefusal = (verdict: Verdict): verdict is keyof typeof refusals =>
  Object.hasOwn(refusals, verdict);

/**
 * Returns `answer`, or `empty` if there is no content. Throws a `Setback` if another try may succeed, else `SOURCE_REFUSED`,
 * `SOURCE_UNAVAILABLE`, `CREDENTIALS_REFUSED`, `ACCESS_FORBIDDEN`, `SOURCE_MISSING` or `SOURCE_REDIRECTED`.
 */
export async function judge(
  request: WireRequest,
  answer: WireAnswer,
  tries: number,
  now: number,
): Promise<'answer' | 'empty'> {
  const { status } = answer;
  const verdict = verdictOn(status);
  if (verdict === 'answer' || verdict === 'empty') return verdict;
  const facts = { origin: request.origin, endpoint: endpointOf(request), status, attempts: tries };
  if (verdict === 'redirected') {
    // Only the origin: path and query of a sign-in redirect may carry credentials.
    const target = originOf(answer.header('location') ?? '', request.origin);
    throw new Failure(
      'SOURCE_REDIRECTED',
      `${endpointOf(request)} was redirected to ${target} (${status})`,
      {
        facts: { ...facts, target },
        hint: 'Configure the address the service answers at; redirects are not followed.',
      },
    );
  }
  const words = serviceWords((await readStart(answer, MAX_ERROR_BODY_BYTES)).text);
  const message = `was answered ${status}${words === '' ? ' without a reason' : `: ${words}`}`;
  if (isRefusal(verdict)) {
    const { code, hint } = refusals[verdict];
    const where =
      verdict === 'too long'
        ? `, an address of ${request.origin.length + request.target.length} bytes,`
        : '';
    throw new Failure(code, `${endpointOf(request)}${where} ${message}`, {
      facts: { ...facts, response: words },
      hint,
    });
  }
  const answeredAt = statedAt(answer.header('date'), answer.header('age')) ?? now;
  const waitMs = retryAfterMs(answer.header('retry-after'), answeredAt);
  throw new Setback(verdict, String(status), message, { status, retryAfterMs: waitMs });
}

function originOf(location: string, base: string): string {
  if (location === '' || !URL.canParse(location, base)) return 'nowhere';
  return originWords(new URL(location, base));
}
