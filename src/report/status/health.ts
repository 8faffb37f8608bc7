/** Judges from a status report whether all is well, and if not, what to do. Pure. */

import type { Failure } from '../../errors.ts';
import { MS_PER_DAY } from '../../model/calendar.ts';
import type { FailedStart } from './failed-start.ts';
import { alikeSlices, groupedFailures } from './failure-groups.ts';
import {
  healthStates,
  type Health,
  type HealthState,
  type RunFailure,
  type StatusReport,
} from './status-report.ts';

/** A nightly run that is later than this has missed a night. */
const LATE_MS = 1.5 * MS_PER_DAY;
/** A period this old should have been loaded by the night before last. */
const MISSING_AGE_DAYS = 2;
/** A horizon that is too short shows that again every night; a correction is no news for longer. */
const MOVED_DAYS = 14;
/** Per kind: enough to see what went wrong; the run's own list has the rest. */
const MAX_FINDINGS = 5;
/** As many as a line has room for; `--slice` shows all. */
const MAX_PROPOSED = 3;

interface Finding {
  /** `well`: worth knowing, but no problem. */
  readonly state: HealthState;
  readonly message: string;
  readonly hint: string | null;
}

type Judged = Omit<StatusReport, 'health'>;

/**
 * Judges the newest run and the newest that called the service. `future` is the failure if stored fetches lie in the future;
 * `start` is the last run if it did not start.
 */
export function healthOf(
  report: Judged,
  future: Failure | null,
  start: FailedStart | null = null,
): Health {
  const { runs, warnings, rejected_rows: rejectedRows, unconfigured } = report;
  const findings: Finding[] = [];
  const add = (state: HealthState, message: string, hint: string | null = null): void =>
    void findings.push({ state, message, hint });
  const [newest] = runs;
  // A replay from the archive shows nothing about the service.
  const online = runs.find(({ command }) => command !== 'replay') ?? newest;
  const judged = newest === undefined || online === undefined ? [] : [...new Set([newest, online])];
  const failedStart = start !== null && !runs.some(({ started_at: at }) => at > start.at) && start;
  if (failedStart) add('failed', `${failedStart.code}: ${failedStart.message}`, failedStart.hint);
  if (online === undefined) add('watch', 'Nothing is loaded yet.', 'Run `ripen sync`.');
  for (const { status, refreshed, failures } of judged) {
    if (status === 'running') {
      const message =
        refreshed === null
          ? 'It was killed, its machine stopped, or the disk was full.'
          : 'Its data is loaded, but it was killed while publishing, or a copy was restored as the warehouse.';
      add('failed', message, RUN_AGAIN);
    }
    findings.push(...failedFindings(failures.filter((one) => one.published_later !== true)));
    if (status === 'interrupted') add('watch', 'A signal stopped the run.', RUN_AGAIN);
  }
  // A run of some slices shows nothing of the others: what they failed with before still holds.
  const judgedSlices = new Set<string>();
  const configured = new Set(report.slices.map(({ name }) => name));
  const earlier: RunFailure[] = [];
  for (const run of runs) {
    for (const failure of judged.includes(run) ? [] : run.failures)
      if (
        failure.slice !== null &&
        configured.has(failure.slice) &&
        !judgedSlices.has(failure.slice)
      )
        earlier.push(failure);
    if (run.command !== 'replay') for (const slice of run.slices) judgedSlices.add(slice);
  }
  findings.push(...failedFindings(earlier));
  // By a wrong clock nothing can be called late.
  if (online !== undefined && future === null) findings.push(...lateFindings(report));
  for (const { code, message } of warnings) if (code === 'AUDIT_FAILED') add('watch', message);
  if (future !== null) add('failed', future.message, future.hint);
  const rejected = rejectedRows.reduce((sum, { rows }) => sum + rows, 0);
  if (rejected > 0) {
    const hint = 'See `select * from ripen.rejected_rows` for the rows and the reasons.';
    add('watch', `${counted(rejected, 'row')} of the last run could not be stored exactly.`, hint);
  }
  findings.push(...gravest(horizonFindings(report)));
  for (const slice of unconfigured) {
    const message = `${slice} is no longer configured; its data is kept.`;
    add('well', message, `To remove it, run \`ripen drop --slice ${slice}\`.`);
  }
  const state = healthStates.find((one) => findings.some((found) => found.state === one)) ?? 'well';
  let headline = 'There is no run yet.';
  const last = judged.find(({ status }) => status !== 'succeeded') ?? online;
  if (last !== undefined) {
    const { status, failures, command, as_of: asOf } = last;
    let end = ends.get(status) ?? 'failed';
    if (status === 'partial') end = `ended with ${counted(failures.length, 'failure')}`;
    const isHeld = failures.length > 0 && failures.every(({ code }) => code === 'AUDIT_HELD');
    if (isHeld) end = 'was held back by an audit';
    if (failures.length > 0 && failures.every((one) => one.published_later === true))
      end += isHeld ? ', and published later' : '; a later publish succeeded';
    const run = `The last ${command}, as of ${minuteOf(asOf)}, ${end}`;
    const isDoubtful = state !== 'well' && status === 'succeeded';
    headline = `${run}${isDoubtful ? ', but something needs attention' : ''}.`;
    if (state === 'well') headline = `All is well. ${run}.`;
  }
  if (failedStart) headline = `The last run, at ${minuteOf(failedStart.at)}, did not start.`;
  return { state, headline, findings: findings.map(({ message, hint }) => ({ message, hint })) };
}

const ends = new Map([
  ['succeeded', 'succeeded'],
  ['interrupted', 'was interrupted'],
  ['running', 'did not finish'],
]);

const RUN_AGAIN = 'Run `ripen sync` again; loaded data is kept.';

const failedFindings = (failures: readonly RunFailure[]): Finding[] =>
  gravest(
    groupedFailures(failures).map(({ code, message, hint }): Finding => {
      return { state: 'failed', message: `${code}: ${message}`, hint };
    }),
  );

/** Returns the gravest findings first, and how many more there are. */
function gravest(findings: readonly Finding[]): Finding[] {
  const sorted = findings.toSorted(
    (one, other) => healthStates.indexOf(one.state) - healthStates.indexOf(other.state),
  );
  const shown = sorted.slice(0, MAX_FINDINGS);
  const more = findings.length - shown.length;
  if (more > 0) shown.push({ state: 'well', message: `And ${more} more like these.`, hint: null });
  return shown;
}

/**
 * Says that the last run is long ago and what that left behind, or else which periods are missing. Judges the latest instant up to
 * now: the newest run may have an earlier one, or one by a wrong clock.
 */
function lateFindings({ runs, slices, as_of: planAt }: Judged): Finding[] {
  const online = runs.filter(({ command }) => command !== 'replay');
  const instants = (online.length === 0 ? runs : online).map(({ as_of: at }) => at);
  const latest = instants
    .filter((at) => at <= planAt)
    .toSorted()
    .at(-1);
  const agoMs = latest === undefined ? 0 : Date.parse(planAt) - Date.parse(latest);
  const overdueSince = new Date(Date.parse(planAt) - LATE_MS).toISOString();
  const lacks: { slice: string; lack: string; isBuilding: boolean }[] = [];
  const counts: number[] = [];
  for (const { name, ages, building_periods: building } of slices) {
    const due = {
      'never loaded': ages.filter(
        ({ state, age_days: age }) => state === 'missing' && age >= MISSING_AGE_DAYS,
      ),
      'overdue for another fetch': ages.filter(
        ({ next_refresh_at: next }) => next !== null && next < overdueSince,
      ),
    };
    const periods = Object.values(due).flat().length;
    if (periods > 0) counts.push(periods);
    for (const [what, [oldest, ...others]] of Object.entries(due)) {
      if (oldest === undefined) continue;
      const lack = `${counted(1 + others.length, 'period')} ${what}, the oldest ${oldest.first_day}`;
      lacks.push({ slice: name, lack, isBuilding: building !== null });
    }
  }
  if (latest === undefined || agoMs <= LATE_MS)
    return alikeSlices(lacks).map(({ slices: names, first, count }): Finding => {
      const { slice, lack, isBuilding } = first;
      const command = count === 1 ? `ripen sync --slice ${slice}` : 'ripen sync';
      const reason = isBuilding ? ' Its warning MEANING_HELD_BACK gives the reason.' : '';
      const hint = `Run \`${command}\`.${reason}`;
      return { state: 'watch', message: `${names ?? ''}: ${lack}.`, hint };
    });
  const periods = counts.reduce((sum, number) => sum + number, 0);
  const due = `${counted(periods, 'period')} of ${counted(counts.length, 'slice')}`;
  const left = periods === 0 ? '' : ` Due since then: ${due}.`;
  const message = `No run for ${counted(Math.floor(agoMs / MS_PER_DAY), 'day')}: the last was as of ${minuteOf(latest)}.${left}`;
  return [{ state: 'watch', message, hint: 'Check that the nightly job is still scheduled.' }];
}

/** Returns horizons that final totals contradict, and proposed ones for metrics that have none or stop changing earlier. */
function horizonFindings({ slices, as_of: planAt }: Judged): Finding[] {
  const since = new Date(Date.parse(planAt) - MOVED_DAYS * MS_PER_DAY).toISOString().slice(0, 10);
  const findings: Finding[] = [];
  const corrections: { slice: string; text: string }[] = [];
  for (const { name, horizons } of slices) {
    const shorter: string[] = [];
    // Metrics that moved on one day, without evidence for another horizon, have one cause.
    const corrected = new Map<string, { metric: string; text: string }[]>();
    for (const { metric, horizon_days: horizon, supported_days: days, ...history } of horizons) {
      const { is_restless: isRestless } = history;
      const { final_periods: periods, final_moved: moved, last_moved_day: lastDay } = history;
      const { supported_periods: watched, supported_moved: later, last_change_age: age } = history;
      const proposal =
        days === null || days <= (horizon ?? 0)
          ? null
          : `Set \`horizons: { ${metric}: ${days}d }\`: ${later} of ${watched} totals moved later.`;
      if (horizon !== null && days !== null && days < horizon) shorter.push(`${metric}: ${days}d`);
      if (horizon === null && proposal !== null) {
        const message = `${name}: ${metric} never becomes final; its totals last moved at age ${age ?? 1}.`;
        findings.push({ state: 'well', message, hint: proposal });
      } else if (lastDay !== null && lastDay >= since) {
        const text = `${moved} of ${periods} final totals of ${metric} moved after its horizon of ${horizon}d, the latest found on ${lastDay}.`;
        // A restless metric was told when it began; every night since has moved totals.
        const state = isRestless ? 'well' : 'watch';
        if (proposal !== null)
          findings.push({ state, message: `${name}: ${text}`, hint: proposal });
        else if (!isRestless)
          corrected.set(lastDay, [...(corrected.get(lastDay) ?? []), { metric, text }]);
      }
    }
    for (const [lastDay, [first, ...others]] of corrected) {
      if (first === undefined) continue;
      const metrics = `${first.metric} and ${counted(others.length, 'other metric')}`;
      const text =
        others.length === 0
          ? first.text
          : `final totals of ${metrics} moved after their horizons, the latest found on ${lastDay}.`;
      corrections.push({ slice: name, text });
    }
    if (shorter.length === 0) continue;
    const more =
      shorter.length > MAX_PROPOSED ? ` \`ripen status --slice ${name}\` shows all.` : '';
    const message = `${name}: totals of ${counted(shorter.length, 'metric')} stopped moving before their horizon.`;
    const hint = `Values become final earlier with \`horizons: { ${shorter.slice(0, MAX_PROPOSED).join(', ')} }\`.${more}`;
    findings.push({ state: 'well', message, hint });
  }
  for (const { slices: names, first } of alikeSlices(corrections))
    findings.push({ state: 'watch', message: `${names ?? ''}: ${first.text}`, hint: null });
  return findings;
}

const counted = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`;

/** `2026-02-14 02:30 UTC`. */
const minuteOf = (instant: string): string =>
  `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;
