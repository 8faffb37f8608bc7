/** Each event as one sentence for people; pure. */

import type { EventType, RunEvent } from '../../events.ts';
import {
  countText,
  durationText,
  elapsedText,
  groupedText,
  sizeText,
  sumOf,
} from '../../model/measure.ts';
import { oneLine } from './printable.ts';

/** Returns a sentence that begins with the slice and window of the event. */
export function sentenceOf(event: RunEvent): string {
  const { type, slice, window }: Pick<RunEvent, 'type'> & Partial<Placed> = event;
  const kind = type === 'failed' || type === 'warning' ? `${type}: ` : '';
  const words = [slice, window].filter((word) => typeof word === 'string').join(' ');
  return oneLine(`${kind}${words === '' ? '' : `${words}: `}${sentence(type, event)}`);
}

type Placed = Pick<RunEvent<'failed'>, 'slice' | 'window'>;

const sentence = <T extends EventType>(type: T, event: RunEvent<T>): string =>
  sentences[type](event);

export const restatedText = (periods: number): string =>
  periods === 0 ? '' : `, ${countText(periods, 'period')} restated`;

const sentences: { readonly [T in EventType]: (event: RunEvent<T>) => string } = {
  run_started: ({ command, asOf, runId }) => `${command} started as of ${asOf} (run ${runId})`,
  run_finished: ({ runId, status, ms }) => `run ${runId} ${status} after ${elapsedText(ms)}`,
  lock_waiting: ({ warehouse, holder, waitMs }) =>
    `waiting up to ${durationText(waitMs)} for ${warehouse}, held by ${holder}`,
  slice_planned: ({ periods, windows }) =>
    `${countText(sumOf(Object.values(periods)), 'period')} due in ${countText(windows, 'window')}`,
  request_retried: ({ endpoint, attempt, because, waitMs }) =>
    `${endpoint}: attempt ${attempt} ended with ${because}, next in ${elapsedText(waitMs)}`,
  concurrency_changed: ({ from, to, because }) =>
    `simultaneous calls: ${from} → ${to}, because of ${because}`,
  breaker_opened: ({ waitMs }) =>
    `the service keeps failing: nothing is sent for ${elapsedText(waitMs)}`,
  breaker_closed: () => 'the service answers again',
  window_asked: ({ requests }) => `requested in ${countText(requests, 'part')}`,
  window_fetched: ({ bytes, ms }) => `fetched ${sizeText(bytes)} in ${elapsedText(ms)}`,
  window_missed: ({ because }) => `not fetched: ${because}`,
  window_loaded: ({ rows, restated }) =>
    `loaded ${countText(rows, 'row')}${restatedText(restated.length)}`,
  window_split: ({ by, into, because }) => `split by ${by} into ${into}, because of ${because}`,
  window_asked_again: ({ because }) => `requested again, because of ${because}`,
  windows_regrouped: ({ from, into }) => `${countText(from, 'window')} became ${groupedText(into)}`,
  periods_deleted: ({ periods, before, rows }) =>
    `removed ${countText(periods, 'period')} before ${before}, ${countText(rows, 'row')}, as retain says`,
  totals_moved: ({ message, waiting }) =>
    `${message}${waiting === 0 ? '' : `; ${waiting} final periods wait for a later night`}`,
  failed: ({ code, message }) => `${code}: ${message}`,
  warning: ({ code, message }) => `${code}: ${message}`,
  catalog_loaded: ({ items }) => `catalog: ${countText(items, 'item')}`,
  partners_loaded: ({ rows }) => `partners: ${countText(rows, 'row')}`,
  links_loaded: ({ app, rows, requests }) =>
    `links of ${app}: ${countText(rows, 'row')} in ${countText(requests, 'request')}`,
  dimensions_stored: ({ partners, links }) =>
    `stored: ${countText(partners, 'partner')}, ${countText(links, 'link')}`,
  spend_settled: ({ settled, due }) =>
    `ad spend: ${groupedText(settled)} of ${countText(due, 'line')}`,
  published: ({ kind, path, filesWritten, ms }) =>
    `published ${kind} ${path}: ${countText(filesWritten, 'file')} in ${elapsedText(ms)}`,
};
