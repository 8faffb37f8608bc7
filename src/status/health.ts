/** Whether all is well, and if not, what to do: a judgement on a status report; pure. */

import type { Failure } from '../errors.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { proposedHorizonDays } from '../model/sampling.ts';
import type { FailedStart } from './failed-start.ts';
import { groupedFailures } from './failure-groups.ts';
import {
  AUDITED_DAYS,
  healthStates,
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

interface Finding {
  /** `well` is worth knowing and no trouble. */
  readonly state: HealthState;
  readonly message: string;
  readonly hint: string | null;
}

const finding = (state: HealthState, message: string, hint: string | null = null): Finding => ({
  state,
  message,
  hint,
});

/**
 * Judges the newest run that asked the service, how long ago it was, the newest of any kind, and what is missing. `future` is that
 * fetches on record lie in the future, `start` the last run where it did not start.
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
    ...(failedStart === null
      ? []
      : [finding('failed', `${failedStart.code}: ${failedStart.message}`, failedStart.hint)]),
    ...(asking === undefined
      ? [finding('watch', 'Nothing was loaded yet.', 'Run `ripen sync`.')]
      : [
          ...judged.flatMap(runFindings),
          ...lateFindings(report),
          ...report.slices.flatMap(periodFindings(report.as_of)),
        ]),
    ...(future === null ? [] : [finding('failed', future.message, future.hint)]),
    ...rejectedFindings(report),
    ...report.slices.flatMap(horizonFindings),
    ...report.unconfigured.map((slice) =>
      finding(
        'well',
        `${slice} is no longer configured; what was loaded of it is kept.`,
        `To remove it, run \`ripen drop --slice ${slice}\`.`,
      ),
    ),
  ];
  const state = healthStates.find((each) => findings.some((found) => found.state === each)) ?? 'well';
  return {
    state,
    headline:
      failedStart === null
        ? headlineOf(state, judged.find(({ status }) => status !== 'succeeded') ?? asking)
        : `The last run, at ${minuteOf(failedStart.at)}, did not start.`,
    findings: findings.map(({ message, hint }) => ({ message, hint })),
  };
}

function headlineOf(state: HealthState, last: RunStatus | undefined): string {
  if (last === undefined) return 'There is no run yet.';
  const run = `The last ${last.command}, as of ${minuteOf(last.as_of)}, ${endOf(last)}`;
  if (state === 'well') return `All is well. ${run}.`;
  return `${run}${state === 'watch' && last.status === 'succeeded' ? ', but something wants a look' : ''}.`;
}

const ends = new Map([
  ['succeeded', 'succeeded'],
  ['interrupted', 'was interrupted'],
  ['running', 'did not finish'],
]);

function endOf({ status, failures }: RunStatus): string {
  if (status === 'partial') return `loaded only a part: ${counted(failures.length, 'failure')}`;
  return ends.get(status) ?? 'failed';
}

const RUN_AGAIN = 'Run `ripen sync` again; what was loaded is kept.';

function runFindings({ status, failures, refreshed }: RunStatus): Finding[] {
  if (status === 'running') {
    const amid = refreshed === null ? '' : ', while it published';
    const message = `The process was killed, its machine stopped${amid}, or it could not record its end, as when the disk is full.`;
    return [finding('failed', message, RUN_AGAIN)];
  }
  const groups = groupedFailures(failures);
  return [
    ...groups.slice(0, MOST_FAILURES).map(({ code, message, hint }) => finding('failed', `${code}: ${message}`, hint)),
    ...(groups.length > MOST_FAILURES ? [finding('failed', `${groups.length - MOST_FAILURES} more failed.`)] : []),
    ...(status === 'interrupted' ? [finding('watch', 'A signal stopped the run.', RUN_AGAIN)] : []),
  ];
}

/** Of the runs up to the instant the latest counts: the newest may have planned for an earlier one, or by a wrong clock. */
function lateFindings({ runs, as_of: planAt }: Pick<StatusReport, 'runs' | 'as_of'>): Finding[] {
  const asking = runs.filter(({ command }) => command !== 'replay');
  const instants = (asking.length === 0 ? runs : asking).map(({ as_of: at }) => at).filter((at) => at <= planAt);
  const latest = instants.toSorted().at(-1);
  const agoMs = latest === undefined ? 0 : Date.parse(planAt) - Date.parse(latest);
  if (latest === undefined || agoMs <= LATE_MS) return [];
  const message = `No run for ${counted(Math.floor(agoMs / MS_PER_DAY), 'day')}: the last was as of ${minuteOf(latest)}.`;
  return [finding('watch', message, 'See whether the nightly job is still scheduled.')];
}

/** Periods that were never loaded, and such as are loaded but should have been fetched again. */
function periodFindings(planAt: string): (slice: SliceStatus) => Finding[] {
  const overdueSince = new Date(Date.parse(planAt) - LATE_MS).toISOString();
  return ({ name, ages }) => {
    const missing = ages.filter(({ state, age_days: age }) => state === 'missing' && age >= MISSING_AGE_DAYS);
    const overdue = ages.filter(({ next_refresh_at: next }) => next !== null && next < overdueSince);
    const run = `Run \`ripen sync --slice ${name}\``;
    const never = `${name}: ${counted(missing.length, 'period')} ${missing.length === 1 ? 'was' : 'were'} never loaded`;
    const due = `${name}: ${counted(overdue.length, 'period')} ${overdue.length === 1 ? 'is' : 'are'} overdue for another fetch`;
    return [
      ...missing.slice(0, 1).map((oldest) => finding('watch', `${never}, the oldest ${oldest.first_day}.`, `${run}.`)),
      ...overdue
        .slice(0, 1)
        .map((oldest) =>
          finding('watch', `${due}, the oldest ${oldest.first_day}.`, `${run}; what then fails says why.`),
        ),
    ];
  };
}

function rejectedFindings({ rejected_rows: rejected }: Pick<StatusReport, 'rejected_rows'>): Finding[] {
  const rows = rejected.reduce((sum, each) => sum + each.rows, 0);
  if (rows === 0) return [];
  const message = `${counted(rows, 'row')} of the last run could not be stored exactly.`;
  return [finding('watch', message, 'See `select * from ripen.rejected_rows` for the rows and the reasons.')];
}

/** Horizons that final totals speak against, and what would do for metrics without one. */
function horizonFindings({ name, histories }: SliceStatus): Finding[] {
  const wrong = histories.filter(({ final_changed: changed }) => changed > 0);
  const endless = histories.filter((each) => each.horizon_days === null && proposedOf(each) !== null);
  const more = (metrics: number, state: HealthState, which: string): Finding[] =>
    metrics <= 0 ? [] : [finding(state, `${name}: ${metrics} more metrics ${which}.`)];
  return [
    ...wrong.slice(0, MOST_FAILURES).map((each) => tooShort(name, each)),
    ...more(wrong.length - MOST_FAILURES, 'watch', 'whose final totals changed'),
    ...endless.slice(0, MOST_FAILURES).map((each) => {
      const { metric, last_change_age: age, later_looks: looks } = each;
      const message = `${name}: ${metric} never becomes final; its last change was seen at age ${age}, and ${looks} later looks found none.`;
      const hint = `State \`horizons: { ${metric}: ${proposedOf(each)}d }\`, which would cover what was seen.`;
      return finding('well', message, hint);
    }),
    ...more(endless.length - MOST_FAILURES, 'well', 'that never become final but have stopped changing'),
  ];
}

function tooShort(name: string, history: MetricHistory): Finding {
  const { metric, horizon_days: horizon, final_cells: cells, final_changed: changed, last_change_age: age } = history;
  const seen = age === null ? '' : `, as late as age ${age}`;
  const message = `${name}: ${changed} of ${cells} final totals of ${metric} fetched again in ${AUDITED_DAYS} days had changed after its horizon of ${horizon}d${seen}.`;
  const proposed = proposedOf(history);
  const hint =
    proposed === null
      ? `State a longer horizon for ${metric} under \`horizons\`; no later fetches have confirmed one yet.`
      : `State \`horizons: { ${metric}: ${proposed}d }\`; ${history.later_looks} later looks found no change.`;
  return finding('watch', message, hint);
}

/** In days, longer than the present one. */
function proposedOf({ horizon_days: horizon, last_change_age: age, later_looks: looks }: MetricHistory): number | null {
  const proposed = proposedHorizonDays({ lastChangeAge: age, laterLooks: looks ?? 0 });
  return proposed !== null && proposed > (horizon ?? 0) ? proposed : null;
}

const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** `2026-02-14 02:30 UTC`. */
const minuteOf = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;
