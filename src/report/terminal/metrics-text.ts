/** A run and its results as Prometheus metrics in a text file (exposition format 0.0.4); pure. */

import { failuresIn, type FailureSummary, type SyncSummary } from '../../run/summary.ts';
import {
  healthStates,
  periodStates,
  type SliceStatus,
  type StatusReport,
} from '../status/status-report.ts';
import { version } from '../../config/version.ts';
import type { PrintedFailure } from './failure-text.ts';

export interface RunEnd {
  readonly command: string;
  readonly endedAt: Date;
  /** By a monotonic clock. */
  readonly durationMs: number;
  readonly exitCode: number;
  /** Null for a run that did not start, which has one failure. */
  readonly summary: SyncSummary | null;
  readonly failures: readonly (PrintedFailure & Pick<FailureSummary, 'count'>)[];
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null];

export function metricsText(end: RunEnd, report: StatusReport | null): string {
  const { command, summary, failures } = end;
  const { requests, retries, bytes } = summary?.service ?? { requests: 0, retries: 0, bytes: 0 };
  const one = (value: number): Sample[] => [[{ command }, value]];
  const loaded = summary?.slices ?? [];
  const metrics: (readonly [name: string, help: string, samples: readonly Sample[]])[] = [
    ['build_info', 'The version that ran.', [[{ version }, 1]]],
    ['run_end_timestamp_seconds', 'When the last run ended.', one(end.endedAt.getTime() / 1000)],
    [
      'run_success',
      'Whether the last run loaded and published everything.',
      one(summary?.status === 'succeeded' ? 1 : 0),
    ],
    [
      'run_exit_code',
      'The exit code of its most serious failure, or of the signal that stopped it.',
      one(end.exitCode),
    ],
    ['run_duration_seconds', 'Duration of the last run.', one(end.durationMs / 1000)],
    ['run_requests', 'Requests sent to the service.', one(requests)],
    ['run_retries', 'Requests that were retried.', one(retries)],
    ['run_received_bytes', 'Bytes received.', one(bytes)],
    [
      'run_failures',
      'Failures by code; all is their number.',
      ['all', ...new Set(failures.map(({ code }) => code))].map((code) => [
        { command, code },
        failuresIn(failures.filter((each) => code === 'all' || each.code === code)),
      ]),
    ],
    [
      'run_rows',
      'Rows of the last run.',
      loaded.flatMap(({ name: slice, rows }): Sample[] => [
        [{ slice, state: 'loaded' }, rows.loaded],
        [{ slice, state: 'rejected' }, rows.rejected],
      ]),
    ],
    [
      'run_restated_periods',
      'Loaded periods whose values the last run changed.',
      loaded.map((slice) => [{ slice: slice.name }, slice.restated_periods]),
    ],
  ];
  if (report !== null) {
    const { slices, health } = report;
    const each = (value: (slice: SliceStatus) => number | null): Sample[] =>
      slices.map((slice) => [{ slice: slice.name }, value(slice)]);
    const secondsAt = (instant: string | null) =>
      instant === null ? null : Date.parse(instant) / 1000;
    metrics.push(
      [
        'health',
        'Overall health: 1 for the present state, 0 for the others.',
        healthStates.map((state) => [{ state }, health.state === state ? 1 : 0]),
      ],
      ['slice_rows', 'Rows stored.', each(({ rows }) => rows)],
      [
        'slice_newest_period_timestamp_seconds',
        'First instant of the newest period with rows, as a day in UTC.',
        each((slice) => secondsAt(slice.newest_period)),
      ],
      [
        'slice_fetched_timestamp_seconds',
        'When the newest answer was fetched.',
        each((slice) => secondsAt(slice.newest_fetch_at)),
      ],
      [
        'slice_periods',
        'Periods of the coverage by state.',
        slices.flatMap((slice) =>
          periodStates.map((state): Sample => [{ slice: slice.name, state }, slice.periods[state]]),
        ),
      ],
      [
        'slice_cells',
        'Cells, periods times metrics, of the coverage.',
        each(({ cells }) => cells.expected),
      ],
      ['slice_final_cells', 'Cells that can no longer change.', each(({ cells }) => cells.final)],
      [
        'slice_unproven_periods',
        'Periods whose rows could not be proven complete.',
        each((slice) => slice.unproven_periods),
      ],
    );
  }
  const escaped = (text: string) =>
    text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  let text = '';
  for (const [name, help, samples] of metrics) {
    const lines = samples.flatMap(([labels, value]) => {
      const pairs = Object.entries(labels).map(([label, word]) => `${label}="${escaped(word)}"`);
      return value === null ? [] : [`ripen_${name}{${pairs.join(',')}} ${value}\n`];
    });
    if (lines.length > 0)
      text += `# HELP ripen_${name} ${help}\n# TYPE ripen_${name} gauge\n${lines.join('')}`;
  }
  return text;
}
