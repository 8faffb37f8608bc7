/** Judges from a status report whether all is well, and if not, what to do. Pure. */

import type { Failure } from '../../errors.ts';
import { MS_PER_DAY } from '../../model/calendar.ts';
import { countText, minuteText, sumOf } from '../../model/measure.ts';
import type { FailedStart } from './failed-start.ts';
import { alike } from '../../model/alike.ts';
import { alikeSlices, groupedFailures } from './failure-groups.ts';
import {
  healthStates,
  type Health,
  type HealthState,
  type RunStatus,
  type StatusReport,
} from './status-report.ts';

const LATE_MS = 1.5 * MS_PER_DAY;
/** A period this old should have been loaded by the night before last. */
const MISSING_AGE_DAYS = 2;
/** A horizon that is too short shows that again every night; a correction is no news for longer. */
const MOVED_DAYS = 14;
/** Per kind: enough to see what went wrong; the run's own list has the rest. */
const MAX_FINDINGS = 5;
/** As many as a line has room for; `--slice` shows all. */
const MAX_PROPOSED = 3;

const RUN_AGAIN = 'Run `ripen sync` again; loaded data is kept.';

export const UNCONFIGURED = 'is no longer configured; its data is kept';
export const removalHint = (slice: string): string =>
  `To remove it, run \`ripen drop --slice ${slice}\`.`;

type Finding = Health['findings'][number] & { readonly state: HealthState };

type Judged = Omit<StatusReport, 'health'>;

/** `wrongClock` is the failure if stored fetches are in the future, and `start` the last run if it did not start. */
export function healthOf(
  report: Judged,
  wrongClock: Failure | null,
  start: FailedStart | null = null,
): Health {
  const { runs, slices, warnings, unconfigured } = report;
  const findings: Finding[] = [];
  const add = (state: HealthState, message: string, hint: string | null = null) =>
    void findings.push({ state, message, hint });
  const addFirst = (candidates: readonly Finding[]) => {
    findings.push(...candidates.slice(0, MAX_FINDINGS));
    const more = candidates.length - MAX_FINDINGS;
    if (more > 0) add('well', `And ${more} more like these.`);
  };
  const addFailures = (failures: (typeof runs)[number]['failures']) => {
    const merged = groupedFailures(failures.filter(({ resolved }) => resolved !== true));
    addFirst(
      merged.map(({ code, message, hint }) => {
        return { state: 'failed', message: `${code}: ${message}`, hint };
      }),
    );
  };
  const judged = latestRuns(runs);
  const online = judged.at(-1);
  const failedStart = start !== null && !runs.some(({ started_at: at }) => at > start.at) && start;
  if (failedStart) add('failed', `${failedStart.code}: ${failedStart.message}`, failedStart.hint);
  if (online === undefined) add('watch', 'Nothing is loaded yet.', 'Run `ripen sync`.');
  const unsettled = unsettledRuns(report);
  const cut = unsettled.find(({ isCut }) => isCut)?.run;
  const which = cut === undefined || judged.includes(cut) ? 'the run' : nameOf(cut);
  if (cut?.status === 'interrupted') add('watch', `A signal stopped ${which}.`, RUN_AGAIN);
  else if (cut !== undefined) {
    const reason =
      cut.refreshed === null
        ? 'was killed, its machine stopped, or the disk was full'
        : 'loaded its data, but was killed while publishing, or a copy was restored as the warehouse';
    add('failed', `${which[0]?.toUpperCase()}${which.slice(1)} ${reason}.`, RUN_AGAIN);
  }
  addFailures(unsettled.flatMap(({ failures }) => failures));
  // By a wrong clock nothing can be called late.
  if (online !== undefined && wrongClock === null) addLate(report, add);
  for (const { code, message } of warnings)
    if (code === 'AUDIT_FAILED' || code === 'MEANING_HELD_BACK') add('watch', message);
  if (wrongClock !== null) add('failed', wrongClock.message, wrongClock.hint);
  const rejected = sumOf(slices.flatMap(({ ages }) => ages.map((period) => period.rejected ?? 0)));
  if (rejected > 0) {
    const message = `${countText(rejected, 'row')} could not be stored exactly.`;
    const hint = 'See `select * from ripen.rejected_rows` for the rows and the reasons.';
    add('watch', message, hint);
  }
  addFirst(horizonFindings(report));
  for (const slice of unconfigured) add('well', `${slice} ${UNCONFIGURED}.`, removalHint(slice));
  const state = healthStates.find((one) => findings.some((found) => found.state === one)) ?? 'well';
  let headline = 'There is no run yet.';
  const last = judged.find(({ status }) => status !== 'succeeded') ?? online;
  if (last !== undefined) {
    const { status, failures, command, as_of: asOf } = last;
    let end = ends.get(status) ?? 'failed';
    if (status === 'partial') end = `ended with ${countText(failures.length, 'failure')}`;
    const isHeld = failures.length > 0 && failures.every(({ code }) => code === 'AUDIT_HELD');
    if (isHeld) end = 'was held back by an audit';
    if (failures.length > 0 && failures.every((one) => one.resolved === true))
      end += isHeld ? ', and published later' : ', since resolved';
    if (state !== 'well' && status === 'succeeded') end += ', but something needs attention';
    const verdict = state === 'well' ? 'All is well. ' : '';
    headline = `${verdict}The last ${command}, as of ${minuteText(asOf)}, ${end}.`;
  }
  if (failedStart) headline = `The last run, at ${minuteText(failedStart.at)}, did not start.`;
  return { state, headline, findings: findings.map(({ message, hint }) => ({ message, hint })) };
}

const nameOf = ({ command, as_of: asOf }: RunStatus) => `the ${command} of ${minuteText(asOf)}`;

/** The newest run, and the newest that shows something about the service, as a replay does not. */
function latestRuns(runs: readonly RunStatus[]): RunStatus[] {
  const [newest] = runs;
  const online = runs.find(({ command }) => command !== 'replay') ?? newest;
  return newest === undefined || online === undefined ? [] : [...new Set([newest, online])];
}

/**
 * The runs whose end still holds, newest first. What failed with a slice holds until a sync of it, or until its window is loaded,
 * all else until each slice was synced.
 */
export function unsettledRuns({ runs, slices }: Pick<StatusReport, 'runs' | 'slices'>) {
  const latest = latestRuns(runs);
  const synced = new Set(runs.flatMap((run) => (run.command === 'sync' ? run.slices : [])));
  // A slice that is only backfilled would keep every run open.
  const open = new Set(slices.flatMap(({ name }) => (synced.has(name) ? name : [])));
  const told = new Set<string>();
  return runs.flatMap((run) => {
    const isLatest = latest.includes(run);
    const ofRun = run.slices.length > 0 ? run.slices : [...open];
    const mayHold = isLatest || (run.command !== 'replay' && ofRun.some((name) => open.has(name)));
    const failures = run.failures.filter((failure) => {
      const { slice, window, code, resolved = false } = failure;
      if (resolved || isLatest) return !resolved;
      if (slice !== null) return open.has(slice) && !isLoaded(window, slice, slices, run);
      // Every run ends with it as long as its cause lasts.
      return mayHold && !told.has(code);
    });
    for (const { code, slice } of run.failures) if (slice === null) told.add(code);
    const isCut = mayHold && ['running', 'interrupted'].includes(run.status);
    // A run that was stopped may not have tried.
    const hasTried = run.status !== 'interrupted' && run.status !== 'running';
    if (run.command === 'sync' && hasTried) for (const slice of run.slices) open.delete(slice);
    return failures.length > 0 || isCut ? [{ run, failures, isCut }] : [];
  });
}

/** Whether every period of a window was fetched after a run. */
function isLoaded(
  window: string | null,
  name: string,
  slices: StatusReport['slices'],
  { as_of: asOf, started_at: startedAt, finished_at: finishedAt }: RunStatus,
) {
  const [first, last] = window?.split(':') ?? [];
  if (first === undefined || last === undefined) return false;
  const { ages = [] } = slices.find((slice) => slice.name === name) ?? {};
  // Another age of a cube may be of the same run.
  const since = asOf === startedAt ? (finishedAt ?? asOf) : asOf;
  const periods = ages.filter(({ first_day: from, last_day: to }) => from <= last && to >= first);
  return periods.length > 0 && periods.every(({ fetched_at: at }) => at !== null && at > since);
}

const ends = new Map([
  ['succeeded', 'succeeded'],
  ['interrupted', 'was interrupted'],
  ['running', 'did not finish'],
]);

/** Judges the latest instant up to now: the newest run may have an earlier one, or one by a wrong clock. */
function addLate(
  { runs, slices, as_of: planAt }: Judged,
  add: (state: HealthState, message: string, hint: string) => void,
) {
  const online = runs.filter(({ command }) => command !== 'replay');
  const instants = (online.length === 0 ? runs : online).map(({ as_of: at }) => at).toSorted();
  const latest = instants.findLast((at) => at <= planAt) ?? planAt;
  const agoMs = Date.parse(planAt) - Date.parse(latest);
  const overdueSince = new Date(Date.parse(planAt) - LATE_MS).toISOString();
  const lacks: { slice: string; lack: string; isBuilding: boolean }[] = [];
  let periods = 0;
  for (const { name: slice, ages, building_periods: building } of slices) {
    const due = {
      'never loaded': ages.filter(
        ({ state, age_days: age }) => state === 'missing' && age >= MISSING_AGE_DAYS,
      ),
      'overdue for another fetch': ages.filter(
        ({ next_refresh_at: next }) => next !== null && next < overdueSince,
      ),
    };
    for (const [what, lacking] of Object.entries(due)) {
      const [oldest] = lacking;
      if (oldest === undefined) continue;
      periods += lacking.length;
      const lack = `${countText(lacking.length, 'period')} ${what}, the oldest ${oldest.first_day}`;
      lacks.push({ slice, lack, isBuilding: building !== null });
    }
  }
  if (agoMs > LATE_MS) {
    let message = `No run for ${countText(Math.floor(agoMs / MS_PER_DAY), 'day')}: the last was as of ${minuteText(latest)}.`;
    const late = new Set(lacks.map(({ slice }) => slice)).size;
    if (periods > 0)
      message += ` Due since then: ${countText(periods, 'period')} of ${countText(late, 'slice')}.`;
    add('watch', message, 'Check that the nightly job is still scheduled.');
    return;
  }
  for (const { slices: names, first, count } of alikeSlices(lacks)) {
    const command = count === 1 ? `ripen sync --slice ${first.slice}` : 'ripen sync';
    const reason = first.isBuilding ? ' Its warning MEANING_HELD_BACK gives the reason.' : '';
    add('watch', `${names ?? ''}: ${first.lack}.`, `Run \`${command}\`.${reason}`);
  }
}

function horizonFindings({ slices, as_of: planAt }: Judged) {
  const since = new Date(Date.parse(planAt) - MOVED_DAYS * MS_PER_DAY).toISOString().slice(0, 10);
  const findings: Finding[] = [];
  const corrections: { slice: string; text: string }[] = [];
  for (const { name, horizons } of slices) {
    const shorter: string[] = [];
    // Metrics that moved on one day, without evidence for another horizon, have one cause.
    const corrected: { lastDay: string; metric: string; text: string }[] = [];
    for (const { metric, horizon_days: horizon, supported_days: days, ...history } of horizons) {
      const { last_moved_day: lastDay, is_restless: isRestless } = history;
      const hint =
        days === null || days <= (horizon ?? 0)
          ? null
          : `Set \`horizons: { ${metric}: ${days}d }\`: ${history.supported_moved} of ${history.supported_periods} totals moved later.`;
      if (horizon !== null && days !== null && days < horizon) shorter.push(`${metric}: ${days}d`);
      if (horizon === null && hint !== null) {
        const message = `${name}: ${metric} never becomes final; its totals last moved at age ${history.last_change_age ?? 1}.`;
        findings.push({ state: 'well', message, hint });
      } else if (lastDay !== null && lastDay >= since) {
        const text = `${history.final_moved} of ${history.final_periods} final totals of ${metric} moved after its horizon of ${horizon}d, the latest found on ${lastDay}.`;
        // A restless metric was told when it began; every night since has moved totals.
        const state = isRestless ? 'well' : 'watch';
        if (hint !== null) findings.push({ state, message: `${name}: ${text}`, hint });
        else if (!isRestless) corrected.push({ lastDay, metric, text });
      }
    }
    for (const [{ text, metric, lastDay }, ...others] of alike(corrected, (one) => one.lastDay)) {
      const merged = `final totals of ${metric} and ${countText(others.length, 'other metric')} moved after their horizons, the latest found on ${lastDay}.`;
      corrections.push({ slice: name, text: others.length === 0 ? text : merged });
    }
    if (shorter.length === 0) continue;
    const more =
      shorter.length > MAX_PROPOSED ? ` \`ripen status --slice ${name}\` shows all.` : '';
    const message = `${name}: totals of ${countText(shorter.length, 'metric')} stopped moving before their horizon.`;
    const hint = `Values become final earlier with \`horizons: { ${shorter.slice(0, MAX_PROPOSED).join(', ')} }\`.${more}`;
    findings.push({ state: 'well', message, hint });
  }
  for (const { slices: names, first } of alikeSlices(corrections))
    findings.push({ state: 'watch', message: `${names ?? ''}: ${first.text}`, hint: null });
  return findings.toSorted(
    (one, other) => healthStates.indexOf(one.state) - healthStates.indexOf(other.state),
  );
}
