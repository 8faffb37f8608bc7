/** Reports: one question, one body on disk. */

import { saveBody } from './body.ts';
import type { Channel } from './channel.ts';
import { expectJson } from './json-answer.ts';
import { type ReportPage, reportTarget } from './report-paging.ts';
import type { Reader } from './retry.ts';
import type { SavedBody } from './service.ts';

export interface ReportQuestion {
  readonly parameters: Readonly<Record<string, string>>;
  /** Null: the first page, which is mostly the only one. */
  readonly page: ReportPage | null;
  readonly saveAs: string;
  readonly maxBytes: number;
}

/**
 * Asks for a report and saves it; null for an empty one (204). Throws `SOURCE_TOO_HEAVY` for 504 and `SOURCE_TIMEOUT` for
 * a deadline that passed, at the first try: the caller asks for less.
 */
export async function askReport(
  channel: Channel,
  { parameters, page, saveAs, maxBytes }: ReportQuestion,
  signal: AbortSignal,
): Promise<SavedBody | null> {
  const path = channel.targetOf('/reports-service/report');
  const target = reportTarget({ origin: channel.origin, path, parameters }, page);
  const read: Reader<SavedBody | null> = async (answer, verdict) => {
    if (verdict === 'empty') return null;
    await expectJson(answer);
    return saveBody(answer, saveAs, maxBytes, channel.secrets);
  };
  return channel.get(target, signal, read, 1);
}
