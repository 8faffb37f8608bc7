/** A run's summary for people; pure. */

import { auditText } from '../../publish/audits.ts';
import type { SliceSummary, SyncSummary } from '../../run/summary.ts';
import {
  countText,
  elapsedText,
  groupedText,
  minuteText,
  namesText,
  runText,
  sizeText,
} from './measure.ts';
import { columnsOf, tableText } from './table.ts';

export function summaryText(summary: SyncSummary): string {
  const { slices, partners, links, service, published, audits, failures } = summary;
  const ms = Date.parse(summary.finished_at) - Date.parse(summary.started_at);
  const failed = failures.length === 0 ? '' : ` with ${countText(failures.length, 'failure')}`;
  // Partners and links are left out if the run had none.
  const account = [
    ...(partners.rows === 0 ? [] : [countText(partners.rows, 'partner')]),
    ...(links.rows + links.removed === 0
      ? []
      : [`${countText(links.rows, 'link')}, ${groupedText(links.removed)} no longer listed`]),
    `${countText(service.requests, 'request')}, ${service.retries} retried, at most ${service.peak_concurrency} at once, ${sizeText(service.bytes)}`,
  ];
  const copies = published.map(
    ({ kind, path, files_written: files }) => `${kind} ${path} (${countText(files, 'file')})`,
  );
  // Few lines: a nightly log is read as a whole.
  return [
    ...(slices.length === 0 ? [] : [loadedTable(slices)]),
    // Named, as the rows of such a day may not have been there yet.
    ...slices.flatMap(({ name, empty_periods: empty }) =>
      empty.length === 0 ? [] : [`${name}: no rows for ${namesText(empty)}`],
    ),
    `service: ${account.join('; ')}`,
    ...audits.map(auditText),
    ...(copies.length === 0 ? [] : [`published ${copies.join(', ')}`]),
    `${summary.status} in ${elapsedText(ms)}${failed}, as of ${minuteText(summary.as_of)} (run ${runText(summary.run_id)})`,
  ].join('\n');
}

function loadedTable(slices: readonly SliceSummary[]): string {
  const hasRejects = slices.some(({ rows }) => rows.rejected > 0);
  return tableText({
    columns: columnsOf(
      'slice',
      '#windows',
      '#rows',
      ...(hasRejects ? ['#rejected'] : []),
      '#restated',
      'periods',
    ),
    rows: slices.map(({ name, windows, rows, restated_periods: restated, periods }) => [
      name,
      `${windows.loaded}/${windows.planned}`,
      groupedText(rows.loaded),
      ...(hasRejects ? [groupedText(rows.rejected)] : []),
      groupedText(restated),
      reasonsText(periods),
    ]),
  });
}

/** `1 new, 14 maturing`, or `nothing due` if there were none. */
export function reasonsText(reasons: Readonly<Record<string, number>>): string {
  const words = Object.entries(reasons).filter(([, count]) => count > 0);
  return words.length === 0
    ? 'nothing due'
    : words.map(([reason, count]) => `${groupedText(count)} ${reason}`).join(', ');
}
