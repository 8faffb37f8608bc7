/** Requests and saves one page of a report, and finds the next one. */

import { Failure } from '../errors.ts';
import { expectJson, saveBody, type SavedBody } from './body.ts';
import type { Channel, Reader } from './call.ts';
import { encodeQuery, withParameter } from './exchange.ts';
import { nextTarget } from './paging.ts';

interface ReportQuestion {
  readonly parameters: Readonly<Record<string, string>>;
  /** Path and query of a further page; null for the first one, usually the only one. */
  readonly page: string | null;
  readonly saveAs: string;
  readonly maxBytes: number;
}

/** Requests and saves a page, see `Service.report`. 504, 524 and the deadline are not retried: the caller requests less. */
export async function requestReport(
  channel: Channel,
  { parameters, page, saveAs, maxBytes }: ReportQuestion,
  signal: AbortSignal,
): Promise<SavedBody | null> {
  const requested = page ?? channel.targetOf('/reports-service/report') + encodeQuery(parameters);
  // The default is human or local dates (observed: format_dates), even if the service names the address.
  const target = withParameter(requested, 'format_dates', 'false');
  const read: Reader<SavedBody | null> = async (answer, verdict) => {
    if (verdict === 'empty') return null;
    await expectJson(answer);
    const { pagination, ...saved } = await saveBody(answer, saveAs, maxBytes, channel.secrets);
    return { ...saved, ...following(pagination, target, channel.origin) };
  };
  return channel.get(target, signal, read, 1);
}

function following(
  pagination: unknown,
  target: string,
  origin: string,
): Pick<SavedBody, 'nextPage' | 'unfollowed'> {
  try {
    return { nextPage: nextTarget(pagination, target, origin) };
  } catch (error) {
    if (error instanceof Failure) return { unfollowed: error.message };
    throw error;
  }
}
