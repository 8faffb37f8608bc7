/** Judges from a status report whether all is well, and if not, what to do. Pure. */

import type { Failure } from '../../errors.ts';
import { MS_PER_DAY } from '../../model/calendar.ts';
import type { FailedStart } from './failed-start.ts';
import { groupedFailures } from './failure-groups.ts';
import {
  healthStates,
  type Health,
  type HealthState,
  type PeriodStatus,
  type RunStatus,
  type SliceStatus,
  type StatusReport,
} from './status-report.ts';

/** A nightly run that is later than this has missed a night. */
const LATE_MS = 1.5 * MS_PER_DAY;
/** A period this old should have been loaded by the night before last. */
const MISSING_AGE_DAYS = 2;
/** Per kind: enough to see what went wrong; the run's own list has the rest. */
const MAX_FINDINGS = 5;

interface Finding {
  /** `well`: worth knowing, but no problem. */
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
 * Judges the newest run and the newest that called the service. `future` is the failure if stored fetches lie in the future;
 * `start` is the last run if it did not start.
 */
export function healthOf(
  report: Omit<StatusReport, 'health'>,
  future: Failure | null,
  start: FailedStart | null = null,
): Health {
  const [newest] = report.runs;
  // A replay from the archive shows nothing about the service.
  const online = report.runs.find(({ command }) => command !== 'replay') ?? newest;
  const judged = newest === undefined || online === undefined ? [] : [...new Set([newest, online])];
  const failedStart =
    start !== null && !report.runs.some(({ started_at: at }) => at > start.at) ? start : null;
  const rejected = report.rejected_rows.reduce((sum, { rows }) => sum + rows, 0);
  const findings = [
    ...(failedStart === null
      ? []
      : [finding('failed', `${failedStart.code}: ${failedStart.message}`, failedStart.hint)]),
    ...(online === undefined
      ? [finding('watch', 'Nothing was loaded yet.', 'Run `ripen sync`.')]
      : [...judged.flatMap(runFindings), ...lateFindings(report)]),
    ...report.warnings
      .filter(({ code }) => code === 'AUDIT_FAILED')
      .map(({ message }) => finding('watch', message)),
    ...(future === null ? [] : [finding('failed', future.message, future.hint)]),
    ...(rejected === 0
      ? []
      : [
          finding(
            'watch',
            `${counted(rejected, 'row')} of the last run could not be stored exactly.`,
            'See `select * from ripen.rejected_rows` for the rows and the reasons.',
          ),
        ]),
    ...capped(report.slices.flatMap(horizonFindings(report.as_of))),
    ...report.unconfigured.map((slice) =>
      finding(
        'well',
        `${slice} is no longer configured; what was loaded of it is kept.`,
        `To remove it, run \`ripen drop --slice ${slice}\`.`,
      ),
    ),
  ];
  const state =
    healthStates.find((each) => findings.some((found) => found.state === each)) ?? 'well';
  const last = judged.find(({ status }) => status !== 'succeeded') ?? online;
  const ended = last?.status ?? '';
  const failures = last?.failures.length ?? 0;
  let end = ends.get(ended) ?? 'failed';
  if (ended === 'partial') end = `loaded only a part: ${counted(failures, 'failure')}`;
  // The failures of audits that held it back are left out once something was published.
  if (failures === 0 && ['partial', 'failed'].includes(ended))
    end = 'was held back by an audit, and published later';
  const run = last && `The last ${last.command}, as of ${minuteOf(last.as_of)}, ${end}`;
  const isDoubtful = state === 'watch' && last?.status === 'succeeded';
  const headline =
    run === undefined
      ? 'There is no run yet.'
      : state === 'well'
        ? `All is well. ${run}.`
        : `${run}${isDoubtful ? ', but something needs attention' : ''}.`;
  return {
    state,
    headline:
      failedStart === null
        ? headline
        : `The last run, at ${minuteOf(failedStart.at)}, did not start.`,
    findings: findings.map(({ message, hint }) => ({ message, hint })),
  };
}

const ends = new Map([
  ['succeeded', 'succeeded'],
  ['interrupted', 'was interrupted'],
  ['running', 'did not finish'],
]);

/** Gravest first, and how many more there are. */
function capped(findings: readonly Finding[]): Finding[] {
  const sorted = findings.toSorted(
    (one, other) => healthStates.indexOf(one.state) - healthStates.indexOf(other.state),
  );
  const more = findings.length - MAX_FINDINGS;
  return [
    ...sorted.slice(0, MAX_FINDINGS),
    ...(more > 0 ? [finding('well', `And ${more} more like these.`)] : []),
  ];
}

const RUN_AGAIN = 'Run `ripen sync` again; loaded data is kept.';

function runFindings({ status, failures }: RunStatus): Finding[] {
  if (status === 'running') {
    const message = `The process was killed, its machine stopped, or it could not record its end, for example because the disk was full.`;
    return [finding('failed', message, RUN_AGAIN)];
  }
  return [
    ...capped(
      groupedFailures(failures).map(({ code, message, hint }) =>
        finding('failed', `${code}: ${message}`, hint),
      ),
    ),
    ...(status === 'interrupted' ? [finding('watch', 'A signal stopped the run.', RUN_AGAIN)] : []),
  ];
}

/**
 * Says that the last run is long ago and what that left behind, or else which periods are missing. Judges the latest instant up to
 * now: the newest run may have an earlier one, or one by a wrong clock.
 */
function lateFindings({
  runs,
  slices,
  as_of: planAt,
}: Pick<StatusReport, 'runs' | 'slices' | 'as_of'>): Finding[] {
  const online = runs.filter(({ command }) => command !== 'replay');
  const instants = (online.length === 0 ? runs : online)
    .map(({ as_of: at }) => at)
    .filter((at) => at <= planAt);
  const latest = instants.toSorted().at(-1);
  const agoMs = latest === undefined ? 0 : Date.parse(planAt) - Date.parse(latest);
  const due = slices.map((slice) => ({ slice, ...duePeriods(slice, planAt) }));
  if (latest === undefined || agoMs <= LATE_MS) return due.flatMap(periodFindings);
  const counts = due.map(({ missing, overdue }) => missing.length + overdue.length).filter(Boolean);
  const periods = counts.reduce((sum, each) => sum + each, 0);
  const left =
    periods === 0
      ? ''
      : ` Due since then: ${counted(periods, 'period')} of ${counted(counts.length, 'slice')}.`;
  const message = `No run for ${counted(Math.floor(agoMs / MS_PER_DAY), 'day')}: the last was as of ${minuteOf(latest)}.${left}`;
  return [finding('watch', message, 'Check that the nightly job is still scheduled.')];
}

/** Periods never loaded, and loaded periods whose next fetch is overdue. */
interface DuePeriods {
  readonly missing: readonly PeriodStatus[];
  readonly overdue: readonly PeriodStatus[];
}

function duePeriods({ ages }: SliceStatus, planAt: string): DuePeriods {
  const overdueSince = new Date(Date.parse(planAt) - LATE_MS).toISOString();
  return {
    missing: ages.filter(
      ({ state, age_days: age }) => state === 'missing' && age >= MISSING_AGE_DAYS,
    ),
    overdue: ages.filter(({ next_refresh_at: next }) => next !== null && next < overdueSince),
  };
}

function periodFindings({
  slice: { name },
  missing,
  overdue,
}: DuePeriods & { readonly slice: SliceStatus }): Finding[] {
  const about = (what: string, [oldest, ...others]: readonly PeriodStatus[]): Finding[] => {
    if (oldest === undefined) return [];
    const message = `${name}: ${counted(1 + others.length, 'period')} ${what}, the oldest ${oldest.first_day}.`;
    const hint = `Run \`ripen sync --slice ${name}\`; if it fails, the failure says why.`;
    return [finding('watch', message, hint)];
  };
  return [...about('never loaded', missing), ...about('overdue for another fetch', overdue)];
}

/** A horizon that is too short shows that again every night; a correction is no news for longer. */
const MOVED_DAYS = 14;
/** As many as a line has room for; `--slice` shows all. */
const MAX_PROPOSED = 3;

/** Horizons that final totals contradict, and proposed ones for metrics that have none or stop changing earlier. */
function horizonFindings(planAt: string): (slice: SliceStatus) => Finding[] {
  const since = new Date(Date.parse(planAt) - MOVED_DAYS * MS_PER_DAY).toISOString().slice(0, 10);
  return ({ name, horizons }) => {
    const findings: Finding[] = [];
    const shorter = horizons.filter(
      ({ horizon_days: days, supported_days: supported }) =>
        days !== null && supported !== null && supported < days,
    );
    for (const { metric, horizon_days: horizon, supported_days: days, ...history } of horizons) {
      const { final_periods: periods, final_moved: moved, last_moved_day: lastDay } = history;
      const { supported_periods: watched, supported_moved: later, last_change_age: age } = history;
      const proposal =
        days === null || days <= (horizon ?? 0)
          ? null
          : `Set \`horizons: { ${metric}: ${days}d }\`: ${later} of ${watched} totals moved later.`;
      if (horizon === null && proposal !== null) {
        const message = `${name}: ${metric} never becomes final; its totals last moved at age ${age ?? 1}.`;
        findings.push(finding('well', message, proposal));
      } else if (lastDay !== null && lastDay >= since) {
        const message = `${name}: ${moved} of ${counted(periods, 'final total')} of ${metric} moved after its horizon of ${horizon}d, the latest found on ${lastDay}.`;
        findings.push(finding('watch', message, proposal));
      }
    }
    if (shorter.length > 0) {
      const set = shorter.map(({ metric, supported_days: days }) => `${metric}: ${days}d`);
      const more = set.length > MAX_PROPOSED ? ` \`ripen status --slice ${name}\` shows all.` : '';
      const message = `${name}: totals of ${counted(set.length, 'metric')} stopped moving before their horizon.`;
      const hint = `Values become final earlier with \`horizons: { ${set.slice(0, MAX_PROPOSED).join(', ')} }\`.${more}`;
      findings.push(finding('well', message, hint));
    }
    return findings;
  };
}

const counted = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`;

/** `2026-02-14 02:30 UTC`. */
const minuteOf = (instant: string): string =>
  `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;
