/** One line of text per event, for a log file. */

import type { RunEvent } from '../events.ts';
import { sentenceOf } from './sentence.ts';

/** `2026-02-14T02:30:01.123Z network_daily …`: the instant, then the sentence. */
export function textEventLine(event: RunEvent, at: Date): string {
  return `${at.toISOString()} ${sentenceOf(event)}`;
}
