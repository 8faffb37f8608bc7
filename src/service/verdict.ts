/** What to do with an answer, by its status: one to read passes; all else is thrown with the service's own words. */

import { Failure } from '../errors.ts';
import { retryAfterMs, statedAt } from './clock.ts';
import { serviceWords } from './error-words.ts';
import { type WireAnswer, type WireRequest, endpointOf } from './exchange.ts';
import { readStart } from './plain-text.ts';
import { kindOf, originWords, policies, Setback } from './setback.ts';

/** Whether a redirected write may have had an effect; 307 and 308 mean: send the same request elsewhere (RFC 9110). */
export const isRedirectedAfter = (status: number): boolean => [301, 302, 303].includes(status);

/** No reason needs more; a proxy may send an endless page. */
export const MAX_ERROR_BODY_BYTES = 64 * 1024;

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
  if (status === 200 || status === 201) return 'answer';
  if (status === 204) return 'empty';
  const kind = kindOf(status);
  const { code, hint, tries: allowed } = policies[kind];
  const endpoint = endpointOf(request);
  const facts = { origin: request.origin, endpoint, status, attempts: tries };
  if (kind === 'redirected') {
    // Only the origin: path and query of a sign-in redirect may carry credentials.
    const location = answer.header('location') ?? '';
    const isAddress = location !== '' && URL.canParse(location, request.origin);
    const target = isAddress ? originWords(new URL(location, request.origin)) : 'nowhere';
    const message = `${endpoint} was redirected to ${target} (${status})`;
    throw new Failure(code, message, { facts: { ...facts, target }, hint });
  }
  const words = serviceWords((await readStart(answer, MAX_ERROR_BODY_BYTES)).text);
  const message = `was answered ${status}${words === '' ? ' without a reason' : `: ${words}`}`;
  if (allowed === 0) {
    const bytes = request.origin.length + request.target.length;
    const where = kind === 'too long' ? `, an address of ${bytes} bytes,` : '';
    throw new Failure(code, `${endpoint}${where} ${message}`, {
      facts: { ...facts, response: words },
      hint,
    });
  }
  const answeredAt = statedAt(answer.header('date'), answer.header('age')) ?? now;
  const waitMs = retryAfterMs(answer.header('retry-after'), answeredAt);
  throw new Setback(kind, String(status), message, { status, retryAfterMs: waitMs });
}
