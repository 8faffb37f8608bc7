/** Each event as one sentence for people; pure. */

import type { EventType, RunEvent } from '../../events.ts';
import {
  countText,
  durationText,
  elapsedText,
  groupedText,
  sizeText,
} from '../../model/measure.ts';
import { oneLine } from './printable.ts';

export const sentenceOf = (event: RunEvent): string => oneLine(sentence(event.type, event));

const sentence = <T extends EventType>(type: T, event: RunEvent<T>): string =>
  sentences[type](event);

const at = (of: { readonly slice: string | null; readonly window?: string | null }) => {
  const words = [of.slice, of.window].filter((word) => typeof word === 'string').join(' ');
  return words === '' ? '' : `${words}: `;
};

export const restatedText = (periods: number): string =>
  periods === 0 ? '' : `, ${countText(periods, 'period')} restated`;

const sentences: { readonly [T in EventType]: (event: RunEvent<T>) => string } = {
  run_started: ({ command, asOf, runId }) => `${command} started as of ${asOf} (run ${runId})`,
  run_finished: ({ runId, status, ms }) => `run ${runId} ${status} after ${elapsedText(ms)}`,
  lock_waiting: (event) =>
    `waiting up to ${durationText(event.waitMs)} for ${event.warehouse}, held by ${event.holder}`,
  slice_planned: ({ periods, windows, ...event }) => {
    const due = Object.values(periods).reduce((sum, count) => sum + count, 0);
    return `${at(event)}${countText(due, 'period')} due in ${countText(windows, 'window')}`;
  },
  request_retried: ({ endpoint, attempt, because, waitMs }) =>
    `${endpoint}: attempt ${attempt} ended with ${because}, next in ${elapsedText(waitMs)}`,
  concurrency_changed: ({ from, to, because }) =>
    `simultaneous calls: ${from} → ${to}, because of ${because}`,
  breaker_opened: ({ waitMs }) =>
    `the service keeps failing: nothing is sent for ${elapsedText(waitMs)}`,
  breaker_closed: () => 'the service answers again',
  window_asked: (event) => `${at(event)}requested in ${countText(event.requests, 'part')}`,
  window_fetched: (event) =>
    `${at(event)}fetched ${sizeText(event.bytes)} in ${elapsedText(event.ms)}`,
  window_missed: (event) => `${at(event)}not fetched: ${event.because}`,
  window_loaded: (event) =>
    `${at(event)}loaded ${countText(event.rows, 'row')}${restatedText(event.restated.length)}`,
  window_split: (event) =>
    `${at(event)}split by ${event.by} into ${event.into}, because of ${event.because}`,
  window_asked_again: (event) => `${at(event)}requested again, because of ${event.because}`,
  windows_regrouped: ({ from, into, ...event }) =>
    `${at(event)}${countText(from, 'window')} became ${groupedText(into)}`,
  periods_deleted: (event) =>
    `${at(event)}removed ${countText(event.periods, 'period')} before ${event.before}, ${countText(event.rows, 'row')}, as retain says`,
  totals_moved: ({ slice, message, waiting }) =>
    `${slice}: ${message}${waiting === 0 ? '' : `; ${waiting} final periods wait for a later night`}`,
  failed: (event) => `failed: ${at(event)}${event.code}: ${event.message}`,
  warning: (event) => `warning: ${at(event)}${event.code}: ${event.message}`,
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
