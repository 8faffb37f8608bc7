/** Whether all is well, and if not, what to do: a judgement on a status report; pure. */

import type { Failure } from '../errors.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { proposedHorizonDays } from '../model/sampling.ts';
import type { FailedStart } from './failed-start.ts';
import { groupedFailures } from './failure-groups.ts';
import {
  AUDITED_DAYS,
  type Health,
  type HealthState,
  type MetricHistory,
  type RunStatus,
  type SliceStatus,
  type StatusReport,
} from './status-report.ts';

/** A nightly job that is later than this has missed a night. */
const LATE_MS = 1.5 * MS_PER_DAY;
/** A period this old should have been loaded by the night before last. */
const MISSING_AGE_DAYS = 2;
/** Enough to see what went wrong; the run's own list has the rest. */
const MOST_FAILURES = 5;

interface HealthFinding {
  /** `well` is worth knowing and no trouble. */
  readonly state: HealthState;
  readonly message: string;
  readonly hint: string | null;
}

/**
 * Judges the newest run that asked the service, how long ago it was, the newest run of any kind, and what is missing; the
 * gravest finding decides the state. `future` is that fetches on record lie in the future, `start` the last run where it did
 * not start.
 */
export function healthOf(
  report: Omit<StatusReport, 'health'>,
  future: Failure | null,
  start: FailedStart | null = null,
): Health {
  const [newest] = report.runs;
  // What an archive gives says nothing of what the service would not.
  const asking = report.runs.find(({ command }) => command !== 'replay') ?? newest;
  const judged = newest === undefined || asking === undefined ? [] : [...new Set([newest, asking])];
  const failedStart = start !== null && !report.runs.some(({ started_at: at }) => at > start.at) ? start : null;
  const findings = [
    ...(failedStart === null ? [] : [startFinding(failedStart)]),
    ...(asking === undefined ? [neverLoaded] : judged.flatMap(runFindings)),
    ...(asking === undefined ? [] : lateFindings(report)),
    ...(asking === undefined ? [] : [...missingFindings(report), ...doubtfulFindings(report)]),
    ...futureFindings(future),
    ...rejectedFindings(report),
    ...report.slices.flatMap(horizonFindings),
    ...report.unconfigured.map(unconfiguredFinding),
  ];
  const state = gravest.find((each) => findings.some((finding) => finding.state === each)) ?? 'well';
  return {
    state,
    headline:
      failedStart === null
        ? headlineOf(state, judged.find(({ status }) => status !== 'succeeded') ?? asking)
        : `The last run, at ${minuteOf(failedStart.at)}, did not start.`,
    findings: findings.map(({ message, hint }) => ({ message, hint })),
  };
}

const gravest = ['failed', 'watch', 'well'] as const satisfies readonly HealthState[];

const startFinding = ({ code, message, hint }: FailedStart): HealthFinding => ({
  state: 'failed',
  message: `${code}: ${message}`,
  hint,
});

const unconfiguredFinding = (slice: string): HealthFinding => ({
  state: 'well',
  message: `${slice} is no longer configured; what was loaded of it is kept.`,
  hint: `To remove it, run \`ripen drop --slice ${slice}\`.`,
});

const neverLoaded: HealthFinding = {
  state: 'watch',
  message: 'Nothing was loaded yet.',
  hint: 'Run `ripen sync`.',
};

function headlineOf(state: HealthState, last: RunStatus | undefined): string {
  if (last === undefined) return 'There is no run yet.';
  const run = `The last ${last.command}, as of ${minuteOf(last.as_of)}, ${ended(last)}`;
  if (state === 'well') return `All is well. ${run}.`;
  return `${run}${state === 'watch' && last.status === 'succeeded' ? ', but something wants a look' : ''}.`;
}

function ended({ status, failures }: RunStatus): string {
  switch (status) {
    case 'succeeded':
      return 'succeeded';
    case 'partial':
      return `loaded only a part: ${failures.length} ${failures.length === 1 ? 'failure' : 'failures'}`;
    case 'interrupted':
      return 'was interrupted';
    case 'running':
      return 'did not finish';
    default:
      return 'failed';
  }
}

function runFindings(run: RunStatus): HealthFinding[] {
  const groups = groupedFailures(run.failures);
  const shown = groups.slice(0, MOST_FAILURES).map(({ code, message, hint }): HealthFinding => {
    return { state: 'failed', message: `${code}: ${message}`, hint };
  });
  const more = groups.length - shown.length;
  const rest: HealthFinding[] = more > 0 ? [{ state: 'failed', message: `${more} more failed.`, hint: null }] : [];
  if (run.status === 'running') {
    const amid = run.refreshed === null ? '' : ', while it published';
    const message = `The process was killed, its machine stopped${amid}, or it could not record its end, as when the disk is full.`;
    return [{ state: 'failed', message, hint: RUN_AGAIN }];
  }
  if (run.status === 'interrupted') {
    return [...shown, ...rest, { state: 'watch', message: 'A signal stopped the run.', hint: RUN_AGAIN }];
  }
  return [...shown, ...rest];
}

const RUN_AGAIN = 'Run `ripen sync` again; what was loaded is kept.';

/** Of the runs up to the instant the latest counts: the newest may have planned for an earlier one, or by a wrong clock. */
function lateFindings({ runs, as_of: planAt }: Pick<StatusReport, 'runs' | 'as_of'>): HealthFinding[] {
  const asking = runs.filter(({ command }) => command !== 'replay');
  const [run] = (asking.length === 0 ? runs : asking)
    .filter(({ as_of: at }) => at <= planAt)
    .toSorted((one, other) => (one.as_of < other.as_of ? 1 : -1));
  if (run === undefined) return [];
  const agoMs = Date.parse(planAt) - Date.parse(run.as_of);
  if (agoMs <= LATE_MS) return [];
  const days = Math.floor(agoMs / MS_PER_DAY);
  const message = `No run for ${days} ${days === 1 ? 'day' : 'days'}: the last was as of ${minuteOf(run.as_of)}.`;
  return [{ state: 'watch', message, hint: 'See whether the nightly job is still scheduled.' }];
}

function missingFindings({ slices }: Pick<StatusReport, 'slices'>): HealthFinding[] {
  return slices.flatMap((slice): HealthFinding[] => {
    const missing = slice.ages.filter(({ state, age_days: age }) => state === 'missing' && age >= MISSING_AGE_DAYS);
    const [oldest] = missing;
    if (oldest === undefined) return [];
    const message =
      missing.length === 1
        ? `${slice.name}: 1 period was never loaded: ${oldest.first_day}.`
        : `${slice.name}: ${missing.length} periods were never loaded, the oldest from ${oldest.first_day} on.`;
    return [{ state: 'watch', message, hint: `Run \`ripen sync --slice ${slice.name}\`.` }];
  });
}

/** Periods that are held, but not as something to rely on. */
function doubtfulFindings({ slices, as_of: planAt }: Pick<StatusReport, 'slices' | 'as_of'>): HealthFinding[] {
  const overdueSince = new Date(Date.parse(planAt) - LATE_MS).toISOString();
  return slices.flatMap((slice): HealthFinding[] => {
    const overdue = slice.ages.filter(({ next_refresh_at: next }) => next !== null && next < overdueSince);
    const [oldest] = overdue;
    if (oldest === undefined) return [];
    const message = `${slice.name}: ${overdue.length} ${overdue.length === 1 ? 'period is' : 'periods are'} overdue for another fetch, the oldest ${oldest.first_day}.`;
    return [{ state: 'watch', message, hint: `Run \`ripen sync --slice ${slice.name}\`; what then fails says why.` }];
  });
}

function futureFindings(future: Failure | null): HealthFinding[] {
  return future === null ? [] : [{ state: 'failed', message: future.message, hint: future.hint }];
}

function rejectedFindings({ rejected_rows: rejected }: Pick<StatusReport, 'rejected_rows'>): HealthFinding[] {
  const rows = rejected.reduce((sum, each) => sum + each.rows, 0);
  if (rows === 0) return [];
  return [
    {
      state: 'watch',
      message: `${rows} ${rows === 1 ? 'row' : 'rows'} of the last run could not be stored exactly.`,
      hint: 'See `select * from ripen.rejected_rows` for the rows and the reasons.',
    },
  ];
}

/** Horizons that final totals speak against, and what would do for metrics without one. */
function horizonFindings({ name, histories }: SliceStatus): HealthFinding[] {
  const wrong = histories.filter(({ final_changed: changed }) => changed > 0);
  const endless = histories.filter((each) => each.horizon_days === null && proposedOf(each) !== null);
  return [
    ...wrong.slice(0, MOST_FAILURES).map((each): HealthFinding => tooShort(name, each)),
    ...more(name, 'watch', wrong.length - MOST_FAILURES, 'whose final totals changed'),
    ...endless.slice(0, MOST_FAILURES).map((each): HealthFinding => {
      const { metric, last_change_age: age, later_looks: looks } = each;
      const message = `${name}: ${metric} never becomes final; its last change was seen at age ${age}, and ${looks} later looks found none.`;
      return {
        state: 'well',
        message,
        hint: `State \`horizons: { ${metric}: ${proposedOf(each)}d }\`, which would cover what was seen.`,
      };
    }),
    ...more(name, 'well', endless.length - MOST_FAILURES, 'that never become final but have stopped changing'),
  ];
}

function more(name: string, state: HealthState, metrics: number, which: string): HealthFinding[] {
  return metrics <= 0 ? [] : [{ state, message: `${name}: ${metrics} more metrics ${which}.`, hint: null }];
}

function tooShort(name: string, history: MetricHistory): HealthFinding {
  const { metric, horizon_days: horizon, final_cells: cells, final_changed: changed, last_change_age: age } = history;
  const seen = age === null ? '' : `, as late as age ${age}`;
  const message = `${name}: ${changed} of ${cells} final totals of ${metric} fetched again in ${AUDITED_DAYS} days had changed after its horizon of ${horizon}d${seen}.`;
  const proposed = proposedOf(history);
  const hint =
    proposed === null
      ? `State a longer horizon for ${metric} under \`horizons\`; no later fetches have confirmed one yet.`
      : `State \`horizons: { ${metric}: ${proposed}d }\`; ${history.later_looks} later looks found no change.`;
  return { state: 'watch', message, hint };
}

/** In days, longer than the present one. */
function proposedOf({ horizon_days: horizon, last_change_age: age, later_looks: looks }: MetricHistory): number | null {
  const proposed = proposedHorizonDays({ lastChangeAge: age, laterLooks: looks ?? 0 });
  return proposed !== null && proposed > (horizon ?? 0) ? proposed : null;
}

/** `2026-02-14 02:30 UTC`. */
function minuteOf(instant: string): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;
}
