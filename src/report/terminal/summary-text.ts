/** A run's summary for people. Pure. */

import { auditText } from '../../publish/audits.ts';
import { failuresIn, type SyncSummary } from '../../run/summary.ts';
import {
  countText,
  elapsedText,
  groupedText,
  minuteText,
  namesText,
  runText,
  sizeText,
} from '../../model/measure.ts';
import { tableText } from './table.ts';

export function summaryText(summary: SyncSummary): string {
  const { slices, partners, links, service, published, audits, failures } = summary;
  const lines: string[] = [];
  if (slices.length > 0) {
    const hasRejects = slices.some(({ rows }) => rows.rejected > 0);
    const rejected = hasRejects ? ['#rejected'] : [];
    const columns = ['slice', '#windows', '#rows', ...rejected, '#restated', 'periods'];
    const rows = slices.map((slice) => [
      slice.name,
      `${slice.windows.loaded}/${slice.windows.planned}`,
      groupedText(slice.rows.loaded),
      ...(hasRejects ? [groupedText(slice.rows.rejected)] : []),
      groupedText(slice.restated_periods),
      reasonsText(slice.periods),
    ]);
    lines.push(tableText({ columns, rows }));
  }
  // Named, as the rows of such a day may not have been there yet.
  for (const { name, empty_periods: empty } of slices)
    if (empty.length > 0) lines.push(`${name}: no rows for ${namesText(empty)}`);
  const account: string[] = [];
  if (partners.rows > 0) account.push(countText(partners.rows, 'partner'));
  if (links.rows + links.removed > 0)
    account.push(
      `${countText(links.rows, 'link')}, ${groupedText(links.removed)} no longer listed`,
    );
  account.push(
    `${countText(service.requests, 'request')}, ${service.retries} retried, at most ${service.peak_concurrency} at once, ${sizeText(service.bytes)}`,
  );
  lines.push(`service: ${account.join('; ')}`, ...audits.map(auditText));
  const copies = published.map(
    ({ kind, path, files_written: files }) => `${kind} ${path} (${countText(files, 'file')})`,
  );
  if (copies.length > 0) lines.push(`published ${copies.join(', ')}`);
  const ms = Date.parse(summary.finished_at) - Date.parse(summary.started_at);
  const count = failuresIn(failures);
  const failed = count === 0 ? '' : ` with ${countText(count, 'failure')}`;
  lines.push(
    `${summary.status} in ${elapsedText(ms)}${failed}, as of ${minuteText(summary.as_of)} (run ${runText(summary.run_id)})`,
  );
  return lines.join('\n');
}

export function reasonsText(reasons: Readonly<Record<string, number>>): string {
  const words = Object.entries(reasons).filter(([, count]) => count > 0);
  const texts = words.map(([reason, count]) => `${groupedText(count)} ${reason}`);
  return texts.join(', ') || 'nothing due';
}
