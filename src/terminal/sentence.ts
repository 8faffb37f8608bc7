/** Each event as one sentence for people; pure. */

import type { RunEvent } from '../events.ts';
import { bytesText, countText, durationText, elapsedText, groupedText } from './measure.ts';
import { oneLine } from './printable.ts';

/** What happened, on one line, without a final stop. Outside text in it is made printable. */
export function sentenceOf(event: RunEvent): string {
  return oneLine(rawSentence(event));
}

function rawSentence(event: RunEvent): string {
  switch (event.type) {
    case 'run_started':
      return `${event.command} started as of ${event.asOf} (run ${event.runId})`;
    case 'lock_waiting':
      return `waiting up to ${durationText(event.waitMs)} for ${event.warehouse}, held by ${event.holder}`;
    case 'slice_planned':
      return `${event.slice}: ${countText(event.periods, 'period')} due in ${countText(event.windows, 'window')}`;
    case 'request_retried':
      return `${event.endpoint}: attempt ${event.attempt} ended with ${event.because}, next in ${elapsedText(event.waitMs)}`;
    case 'concurrency_changed':
      return `simultaneous calls: ${event.from} → ${event.to}, because of ${event.because}`;
    case 'breaker_opened':
      return `the service keeps failing: nothing is sent for ${elapsedText(event.waitMs)}`;
    case 'breaker_closed':
      return 'the service answers again';
    case 'window_asked':
      return `${event.slice} ${event.window}: requested in ${countText(event.requests, 'part')}`;
    case 'window_fetched':
      return `${event.slice} ${event.window}: fetched ${bytesText(event.bytes)} in ${elapsedText(event.ms)}`;
    case 'window_loaded':
      return `${event.slice} ${event.window}: loaded ${countText(event.rows, 'row')}${restated(event.restatedPeriods)}`;
    case 'window_split':
      return `${event.slice} ${event.window}: split into ${event.into}, because of ${event.because}`;
    case 'windows_joined':
      return `${event.slice}: joined ${countText(event.from, 'waiting window')} into ${event.into}, by the size of the first answer`;
    case 'window_asked_again':
      return `${event.slice} ${event.window}: requested again, because of ${event.because}`;
    case 'periods_let_go':
      return `${event.slice}: removed ${countText(event.periods, 'period')} before ${event.before}, ${countText(event.rows, 'row')}, as retain says`;
    case 'failed':
      return `failed: ${place(event.slice, event.window)}${event.code}: ${event.message}`;
    case 'warning':
      return `warning: ${place(event.slice, event.window)}${event.code}: ${event.message}`;
    case 'catalog_loaded':
      return `catalog: ${countText(event.items, 'item')}`;
    case 'partners_loaded':
      return `partners: ${countText(event.rows, 'row')}`;
    case 'links_loaded':
      return `links of ${event.app}: ${countText(event.rows, 'row')} in ${countText(event.requests, 'request')}`;
    case 'spend_settled':
      return `ad spend: ${groupedText(event.settled)} of ${countText(event.due, 'line')}`;
    case 'published':
      return `published ${event.kind} ${event.path}: ${countText(event.filesWritten, 'file')} in ${elapsedText(event.ms)}`;
    case 'run_finished':
    default:
      return `run ${event.runId} ${event.status} after ${elapsedText(event.ms)}`;
  }
}

function restated(periods: number): string {
  return periods === 0 ? '' : `, ${countText(periods, 'period')} restated`;
}

function place(slice: string | null, window: string | null): string {
  const words = [slice, window].filter((word) => word !== null);
  return words.length === 0 ? '' : `${words.join(' ')}: `;
}
