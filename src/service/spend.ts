/** Ad spend: one line, one POST, one outcome; never sent twice where the first may have arrived. */

import { Failure } from '../errors.ts';
import { readHead } from './body-text.ts';
import type { Channel } from './channel.ts';
import type { SpendLine, SpendOutcome } from './service.ts';
import { Setback, type SetbackKind } from './setback.ts';

/** After these nothing was accepted: nothing was sent, or the service said that it did not take it. */
const REPEATS = ['unsent', 'overload', 'unavailable'] as const satisfies readonly SetbackKind[];
const HEAD_BYTES = 4096;

/**
 * Submits a line. Throws for what is no property of the line: `CREDENTIALS_REFUSED`, `SOURCE_MISSING`,
 * `SOURCE_REDIRECTED`, and `SOURCE_UNAVAILABLE` or `SOURCE_OVERLOADED` when it was certainly not accepted. A line
 * aborted on the wire is `unknown`, one aborted before throws the signal's reason.
 */
export async function submitSpend(channel: Channel, line: SpendLine, signal: AbortSignal): Promise<SpendOutcome> {
  const form = new URLSearchParams({
    cost_type: line.costType,
    cost_currency: line.costCurrency,
    cost_id: line.costId,
    cost_amount: line.costAmount,
    tag: line.tag,
  });
  const contentType = 'application/x-www-form-urlencoded';
  const sending = { method: 'POST', contentType, body: form.toString(), repeats: REPEATS } as const;
  try {
    return await channel.send(channel.targetOf('/cost'), sending, signal, async (answer): Promise<SpendOutcome> => {
      // Read so that the connection can serve the next line; what a success says is not shown.
      await readHead(answer, HEAD_BYTES);
      // A sign-in page answers 200, too, and accepts nothing.
      const isPage = /html/i.test(answer.header('content-type') ?? '');
      return isPage
        ? { outcome: 'unknown', reason: `was answered ${answer.status} with a web page` }
        : { outcome: 'accepted' };
    });
  } catch (error) {
    if (error instanceof Setback) return unknownOutcome(error);
    if (error instanceof Failure) return rejection(error);
    throw error;
  }
}

/** Of what call() leaves as a bare setback, only a distrusted connection certainly sent nothing. */
function unknownOutcome(setback: Setback): SpendOutcome {
  if (setback.setback !== 'untrusted') return { outcome: 'unknown', reason: setback.message };
  throw new Failure('SOURCE_UNAVAILABLE', `The ad spend API ${setback.message}`, {
    facts: { because: setback.because },
    hint: 'Name the certificate authority of the address in service.ca_file.',
    cause: setback,
  });
}

function rejection(failure: Failure): SpendOutcome {
  const { said, status } = failure.facts;
  const isRejection = failure.code === 'SOURCE_REFUSED' || failure.code === 'ACCESS_FORBIDDEN';
  if (!isRejection || typeof status !== 'number') throw failure;
  const reason = typeof said === 'string' && said !== '' ? said : `the service answered ${status} without a reason`;
  return { outcome: 'rejected', status, reason };
}
