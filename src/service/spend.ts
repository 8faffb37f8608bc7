/** Ad spend: one line, one POST, one outcome. A line is never sent again if the first request may have arrived. */

import { Failure, isOfToken } from '../errors.ts';
import { firstWords, parsedJson, statedError } from './error-words.ts';
import { readStart } from './body.ts';
import { type Channel, MAX_ERROR_BODY_BYTES } from './call.ts';
import type { WireAnswer } from './exchange.ts';
import { policies, Setback } from './setback.ts';
import type { SpendLine, SpendOutcome } from './service.ts';

/** The only status of an accepted line (service-interface: Errors), whose body the interface does not show. */
const ACCEPTED = 200;

/**
 * After a status that the interface does not list, and after an abort on the wire, the outcome is `unknown`. Throws what any
 * other line would meet, too, and the signal's reason.
 */
export async function submitSpend(
  channel: Channel,
  line: SpendLine,
  signal: AbortSignal,
): Promise<SpendOutcome> {
  const { cost_type, cost_currency, cost_id, cost_amount, tag } = line;
  const form = new URLSearchParams({ cost_type, cost_currency, cost_id, cost_amount, tag });
  const contentType = 'application/x-www-form-urlencoded';
  const sending = { method: 'POST', contentType, body: form.toString() } as const;
  try {
    const read = async (answer: WireAnswer): Promise<SpendOutcome> => {
      const { status } = answer;
      // Read so that the connection can serve the next line, too.
      const { text, isWhole } = await readStart(answer, MAX_ERROR_BODY_BYTES);
      if (status !== ACCEPTED) return undocumented(status, firstWords(text));
      // A sign-in page or an error may have status 200, too. Trimming removes a byte order mark.
      const body = text.trim();
      const isStatedPage = body !== '' && /html/i.test(answer.header('content-type') ?? '');
      const isPage = body.startsWith('<') || isStatedPage;
      const error = statedError(body);
      let doubt: string | null = null;
      if (!isWhole) doubt = 'with a body that could not be read to its end';
      else if (isPage) doubt = 'with a web page';
      else if (error !== null) doubt = `with an error: ${error}`;
      else if (/^[[{]/.test(body) && parsedJson(body) === undefined) doubt = 'with broken JSON';
      if (doubt === null) return { outcome: 'accepted' };
      return { outcome: 'unknown', reason: `was answered ${status} ${doubt}` };
    };
    return await channel.request(channel.targetOf('/cost'), signal, read, sending);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (isOfToken(error)) {
      // This API has its own credential: a hint about the token would mislead.
      const { code, message, facts, cause } = error;
      const hint = 'Set service.cost_headers to the credential of the ad spend API.';
      throw new Failure(code, message, { facts, hint, cause });
    }
    const { cause } = error;
    if (!(cause instanceof Setback)) throw error;
    const { code, effect, spend } = policies[cause.kind];
    const { status = 0, facts } = cause.details;
    const words = String(facts?.['response'] ?? '');
    if (spend === 'rejected') {
      return { outcome: 'rejected', status, reason: words === '' ? 'without a reason' : words };
    }
    if (spend === 'unknown') return undocumented(status, words);
    // Otherwise no line is accepted: there is no such address, the service is overloaded, or all requests are redirected.
    if (effect === 'none') throw error;
    if (code !== 'SOURCE_REDIRECTED') return { outcome: 'unknown', reason: cause.message };
    return { outcome: 'unknown', reason: error.message, failure: error };
  }
}

function undocumented(status: number, stated: string): SpendOutcome {
  const words = stated === '' ? '' : `: ${stated}`;
  return {
    outcome: 'unknown',
    reason: `was answered ${status}, a status that the interface does not document${words}`,
  };
}
