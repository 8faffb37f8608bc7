/** A run's summary for people; pure. */

import type { SliceSummary, SyncSummary } from '../run/summary.ts';
import { bytesText, countText, elapsedText, groupedText, minuteText, runText } from './measure.ts';
import { tableText } from './table.ts';

/** More stretches of empty periods are in `--json`. */
const MOST_STRETCHES = 5;

/** What was loaded per slice, what else was, and how the run ended. */
export function summaryText(summary: SyncSummary): string {
  const ms = Date.parse(summary.finished_at) - Date.parse(summary.started_at);
  return [
    ...(summary.slices.length === 0 ? [] : [loadedTable(summary.slices), '']),
    ...summary.slices.flatMap(emptyLine),
    ...dimensionsLine(summary),
    serviceLine(summary.service),
    ...summary.published.map(
      (copy) => `published ${copy.kind} ${copy.path} (${countText(copy.files_written, 'file')})`,
    ),
    `${summary.status} in ${elapsedText(ms)}${failedText(summary.failures.length)}, as of ${minuteText(summary.as_of)} (run ${runText(summary.run_id)})`,
  ].join('\n');
}

/** What was loaded, a line a slice. */
export function loadedTable(slices: readonly SliceSummary[]): string {
  const hasRejects = slices.some((slice) => slice.rows.rejected > 0);
  return tableText(
    [
      { title: 'slice' },
      { title: 'windows', align: 'right' },
      { title: 'rows', align: 'right' },
      ...(hasRejects ? ([{ title: 'rejected', align: 'right' }] as const) : []),
      { title: 'restated', align: 'right' },
      { title: 'periods' },
    ],
    slices.map((slice) => [
      slice.name,
      `${slice.windows.loaded}/${slice.windows.planned}`,
      groupedText(slice.rows.loaded),
      ...(hasRejects ? [groupedText(slice.rows.rejected)] : []),
      groupedText(slice.restated_periods),
      reasonsText(slice.periods),
    ]),
  );
}

/** Named, as a day without rows may be one whose rows were not there yet. */
function emptyLine({ name, empty_periods: empty }: SliceSummary): string[] {
  if (empty.length === 0) return [];
  const shown = empty.slice(0, MOST_STRETCHES).join(', ');
  const more = empty.length > MOST_STRETCHES ? ` and ${empty.length - MOST_STRETCHES} more` : '';
  return [`${name}: no rows for ${shown}${more}`];
}

/** `1 new, 14 maturing`; `nothing due` when there were none. */
export function reasonsText(reasons: Readonly<Record<string, number>>): string {
  const words = Object.entries(reasons)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${groupedText(count)} ${reason}`);
  return words.length === 0 ? 'nothing due' : words.join(', ');
}

/** Partners and links as far as they were asked for: a run of the windows alone says nothing of them. */
function dimensionsLine({ partners, links }: SyncSummary): string[] {
  const parts = [
    ...(partners.rows === 0 ? [] : [`partners: ${countText(partners.rows, 'row')}`]),
    ...(links.rows + links.removed === 0
      ? []
      : [`links: ${countText(links.rows, 'row')}, ${groupedText(links.removed)} no longer listed`]),
  ];
  return parts.length === 0 ? [] : [parts.join('; ')];
}

function serviceLine(service: SyncSummary['service']): string {
  return `service: ${countText(service.requests, 'request')}, ${service.retries} retried, at most ${service.peak_concurrency} at once, ${bytesText(service.bytes)}`;
}

function failedText(failures: number): string {
  return failures === 0 ? '' : ` with ${countText(failures, 'failure')}`;
}
