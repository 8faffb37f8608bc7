/** A run and its results as Prometheus metrics in a text file (exposition format 0.0.4); pure. */

import type { Failure } from '../../errors.ts';
import type { SyncSummary } from '../../run/summary.ts';
import {
  healthStates,
  periodStates,
  type SliceStatus,
  type StatusReport,
} from '../status/status-report.ts';
import { version } from '../../config/version.ts';

export type RunEnd = {
  readonly command: string;
  readonly endedAt: Date;
  /** By a monotonic clock, as the system clock may be set during the run. */
  readonly durationMs: number;
  /** That of the gravest failure or of the signal that stopped the run; 0 for neither. */
  readonly exitCode: number;
} & (
  | { readonly summary: SyncSummary; readonly failure: null }
  | { readonly summary: null; readonly failure: Failure }
);

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null];
type Metric = readonly [name: string, help: string, samples: readonly Sample[]];

export function metricsText(end: RunEnd, report: StatusReport | null): string {
  return [...runMetrics(end), ...(report === null ? [] : statusMetrics(report))]
    .map(([name, help, samples]) => {
      const lines = samples.flatMap(([labels, value]) => {
        const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
        return value === null ? [] : [`ripen_${name}{${pairs.join(',')}} ${value}\n`];
      });
      const head = `# HELP ripen_${name} ${help}\n# TYPE ripen_${name} gauge\n`;
      return lines.length === 0 ? '' : head + lines.join('');
    })
    .join('');
}

const secondsOf = (at: Date): number => at.getTime() / 1000;

function runMetrics({
  command,
  summary,
  failure,
  endedAt,
  exitCode,
  durationMs,
}: RunEnd): Metric[] {
  const codes = summary === null ? [failure.code] : summary.failures.map(({ code }) => code);
  const { requests, retries, bytes } = summary?.service ?? { requests: 0, retries: 0, bytes: 0 };
  const one = (value: number): Sample[] => [[{ command }, value]];
  const slices = summary?.slices ?? [];
  const rows = slices.flatMap(({ name: slice, rows: { loaded, rejected } }): Sample[] => [
    [{ slice, state: 'loaded' }, loaded],
    [{ slice, state: 'rejected' }, rejected],
  ]);
  const restated = slices.map((slice): Sample => [{ slice: slice.name }, slice.restated_periods]);
  const countOf = (code: string): number => codes.filter((each) => each === code).length;
  const failures = [...new Set(codes)].map((code): Sample => [{ command, code }, countOf(code)]);
  return [
    ['build_info', 'The version that ran.', [[{ version }, 1]]],
    ['run_end_timestamp_seconds', 'When the last run ended.', one(secondsOf(endedAt))],
    [
      'run_success',
      'Whether the last run loaded and published everything.',
      one(summary?.status === 'succeeded' ? 1 : 0),
    ],
    [
      'run_exit_code',
      'The exit code of its gravest failure, or of the signal that stopped it.',
      one(exitCode),
    ],
    ['run_duration_seconds', 'Duration of the last run.', one(durationMs / 1000)],
    ['run_requests', 'Requests sent to the service.', one(requests)],
    ['run_retries', 'Requests that were retried.', one(retries)],
    ['run_received_bytes', 'Bytes received.', one(bytes)],
    [
      'run_failures',
      'Failures by code; all is their number.',
      [[{ command, code: 'all' }, codes.length], ...failures],
    ],
    ['run_rows', 'Rows of the last run.', rows],
    ['run_restated_periods', 'Loaded periods whose values the last run changed.', restated],
  ];
}

function statusMetrics({ slices, health }: StatusReport): Metric[] {
  const each = (value: (slice: SliceStatus) => number | null): Sample[] =>
    slices.map((slice): Sample => [{ slice: slice.name }, value(slice)]);
  const at = (instant: string | null): number | null =>
    instant === null ? null : secondsOf(new Date(instant));
  const states = healthStates.map((state): Sample => [{ state }, health.state === state ? 1 : 0]);
  const newest = each(({ newest_period: day }) => at(day));
  const fetched = each(({ newest_fetch_at: instant }) => at(instant));
  const periods = slices.flatMap((slice) =>
    periodStates.map((state): Sample => [{ slice: slice.name, state }, slice.periods[state]]),
  );
  const unproven = each(({ unproven_periods: count }) => count);
  return [
    ['health', 'Overall health: 1 for the present state, 0 for the others.', states],
    ['slice_rows', 'Rows stored.', each(({ rows }) => rows)],
    [
      'slice_newest_period_timestamp_seconds',
      'First instant of the newest period with rows, as a day in UTC.',
      newest,
    ],
    ['slice_fetched_timestamp_seconds', 'When the newest answer was fetched.', fetched],
    ['slice_periods', 'Periods of the coverage by state.', periods],
    [
      'slice_cells',
      'Cells, periods times metrics, of the coverage.',
      each(({ cells }) => cells.expected),
    ],
    ['slice_final_cells', 'Cells that can no longer change.', each(({ cells }) => cells.final)],
    ['slice_unproven_periods', 'Periods whose rows could not be proven complete.', unproven],
  ];
}

const escaped = (value: string): string =>
  value.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
