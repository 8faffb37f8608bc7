/** A run and what it left, as Prometheus reads metrics from a text file (exposition format 0.0.4); pure. */

import type { Failure } from '../errors.ts';
import type { SyncSummary } from '../run/summary.ts';
import type { StatusReport } from '../status/status-report.ts';
import { healthStates, periodStates } from '../status/status-report.ts';
import { version } from '../version.ts';

/** How a run ended: with a summary, or by what kept it from starting. */
export type RunEnd = {
  readonly command: string;
  readonly endedAt: Date;
  /** Not from one instant to the other: a clock that was set in between would say anything. */
  readonly durationMs: number;
  /** Of the gravest failure, or that of the signal which stopped it. */
  readonly exitCode: number;
} & ({ readonly summary: SyncSummary; readonly failure: null } | { readonly summary: null; readonly failure: Failure });

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number | null];

const MS_PER_SECOND = 1000;

/** The metrics of the run, and, where the status could be read, of every slice; ends with a line feed. */
export function metricsText(end: RunEnd, report: StatusReport | null): string {
  return [...runMetrics(end), ...(report === null ? [] : statusMetrics(report))].join('');
}

function runMetrics(end: RunEnd): string[] {
  const { summary, failure, endedAt } = end;
  const of = { command: end.command };
  const codes = summary === null ? [failure.code] : summary.failures.map(({ code }) => code);
  const slices = summary?.slices ?? [];
  const service = summary?.service ?? { requests: 0, retries: 0, bytes: 0 };
  return [
    gauge('build_info', 'The version that ran.', [[{ version }, 1]]),
    gauge('run_end_timestamp_seconds', 'When the last run ended.', [[of, secondsOf(endedAt)]]),
    gauge('run_success', 'Whether the last run loaded and published everything.', [
      [of, summary?.status === 'succeeded' ? 1 : 0],
    ]),
    gauge('run_exit_code', 'The exit code of its gravest failure, or of the signal that stopped it.', [
      [of, end.exitCode],
    ]),
    gauge('run_duration_seconds', 'How long it took.', [[of, end.durationMs / MS_PER_SECOND]]),
    gauge('run_requests', 'Requests sent to the service.', [[of, service.requests]]),
    gauge('run_retries', 'Requests that were tried again.', [[of, service.retries]]),
    gauge('run_received_bytes', 'Bytes of the answers.', [[of, service.bytes]]),
    gauge('run_failures', 'Failures by code; all is their number.', [
      [{ ...of, code: 'all' }, codes.length],
      ...[...new Set(codes)].map((code): Sample => [{ ...of, code }, codes.filter((each) => each === code).length]),
    ]),
    gauge(
      'run_rows',
      'Rows of the last run.',
      slices.flatMap(({ name, rows }): Sample[] => [
        [{ slice: name, state: 'loaded' }, rows.loaded],
        [{ slice: name, state: 'rejected' }, rows.rejected],
      ]),
    ),
    gauge(
      'run_restated_periods',
      'Loaded periods whose values the last run changed.',
      slices.map(({ name, restated_periods: periods }): Sample => [{ slice: name }, periods]),
    ),
  ];
}

function statusMetrics({ slices, health }: StatusReport): string[] {
  const each = (value: (slice: (typeof slices)[number]) => number | null): Sample[] =>
    slices.map((slice): Sample => [{ slice: slice.name }, value(slice)]);
  return [
    gauge(
      'health',
      'How all is: 1 for the state that holds.',
      healthStates.map((state): Sample => [{ state }, health.state === state ? 1 : 0]),
    ),
    gauge(
      'slice_rows',
      'Rows held.',
      each(({ rows }) => rows),
    ),
    gauge(
      'slice_newest_period_timestamp_seconds',
      'First instant of the newest period with rows, as a day in UTC.',
      each(({ newest_period: newest }) => (newest === null ? null : secondsOf(new Date(`${newest}T00:00:00Z`)))),
    ),
    gauge(
      'slice_fetched_timestamp_seconds',
      'When the newest answer was fetched.',
      each(({ newest_fetch_at: at }) => (at === null ? null : secondsOf(new Date(at)))),
    ),
    gauge(
      'slice_periods',
      'Periods of the coverage by state.',
      slices.flatMap(({ name, periods }) =>
        periodStates.map((state): Sample => [{ slice: name, state }, periods[state]]),
      ),
    ),
    gauge(
      'slice_cells',
      'Cells, periods times metrics, of the coverage.',
      each(({ cells }) => cells.expected),
    ),
    gauge(
      'slice_final_cells',
      'Of them those that can no longer change.',
      each(({ cells }) => cells.final),
    ),
    gauge(
      'slice_unproven_periods',
      'Periods whose rows could not be proven complete.',
      each(({ unproven_periods: unproven }) => unproven),
    ),
  ];
}

const secondsOf = (at: Date): number => at.getTime() / MS_PER_SECOND;

/** A metric with its help and samples; one without a value is left out, as is a metric without any. */
function gauge(name: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.flatMap(([labels, value]) =>
    value === null ? [] : [`ripen_${name}${labelText(labels)} ${value}\n`],
  );
  return lines.length === 0 ? '' : `# HELP ripen_${name} ${help}\n# TYPE ripen_${name} gauge\n${lines.join('')}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** The format's own three escapes. */
const escaped = (value: string): string =>
  value
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
