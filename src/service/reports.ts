/** Reports: one question, one body on disk. */

import { encodeQuery } from './ask.ts';
import { saveBody } from './body.ts';
import type { Channel } from './channel.ts';
import { expectJson } from './json-answer.ts';
import type { Reader } from './retry.ts';
import type { SavedBody } from './service.ts';

/**
 * Asks for a report and saves it; null for an empty one (204). Throws `SOURCE_TOO_HEAVY` for 504 and `SOURCE_TIMEOUT` for
 * a deadline that passed, at the first try: the caller asks for less.
 */
export function askReport(
  channel: Channel,
  parameters: Readonly<Record<string, string>>,
  saveAs: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<SavedBody | null> {
  // Without format_dates=false dates come in human or local forms (observed: format_dates).
  const query = encodeQuery({ ...parameters, format_dates: 'false' });
  const read: Reader<SavedBody | null> = async (answer, verdict) => {
    if (verdict === 'empty') return null;
    await expectJson(answer);
    return saveBody(answer, saveAs, maxBytes, channel.secrets);
  };
  return channel.get(channel.targetOf(`/reports-service/report${query}`), signal, read, 1);
}
