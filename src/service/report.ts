/** A report: one page of it requested and saved, and where the next one is. */

import { Failure } from '../errors.ts';
import { expectJson, saveBody, type SavedBody } from './body.ts';
import type { Channel, Reader } from './call.ts';
import { encodeQuery, withParameter } from './exchange.ts';
import { nextTarget } from './paging.ts';

interface ReportQuestion {
  readonly parameters: Readonly<Record<string, string>>;
  /** Path and query of a further page; null: the first one, which is mostly the only one. */
  readonly page: string | null;
  readonly saveAs: string;
  readonly maxBytes: number;
}

/**
 * Asks for a page and saves it; null for an empty one (204). Throws `SOURCE_TOO_HEAVY` for 504 and `SOURCE_TIMEOUT` for
 * a deadline that passed, at the first try: the caller asks for less.
 */
export async function requestReport(
  channel: Channel,
  { parameters, page, saveAs, maxBytes }: ReportQuestion,
  signal: AbortSignal,
): Promise<SavedBody | null> {
  const requested = page ?? channel.targetOf('/reports-service/report') + encodeQuery(parameters);
  // Human or local dates come unless told (observed: format_dates), also where the service names the address.
  const target = withParameter(requested, 'format_dates', 'false');
  const read: Reader<SavedBody | null> = async (answer, verdict) => {
    if (verdict === 'empty') return null;
    await expectJson(answer);
    const { pagination, ...saved } = await saveBody(answer, saveAs, maxBytes, channel.secrets);
    return { ...saved, ...following(pagination, target, channel.origin) };
  };
  return channel.get(target, signal, read, 1);
}

function following(pagination: unknown, target: string, origin: string): Pick<SavedBody, 'nextPage' | 'unfollowed'> {
  try {
    return { nextPage: nextTarget(pagination, target, origin) };
  } catch (error) {
    if (error instanceof Failure) return { unfollowed: error.message };
    throw error;
  }
}
