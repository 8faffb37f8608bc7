/**
 * Control totals in a run: asks for them before anything is planned, and reads what they show of each slice. Without them
 * everything works as before, so no failure here is one of the run, except refused credentials.
 */

import * as z from 'zod';

import { joined } from '../load/load-ledger.ts';
import type { NightControl } from '../load/night-totals.ts';
import { type DayInterval, daysBetween, MS_PER_DAY } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import {
  type Control,
  controlledDays,
  type ControlEvidence,
  controlName,
  controlsOf,
} from '../model/control.ts';
import { sizesKeptSince, storedPeriods } from '../model/ledger.ts';
import { metricsOf } from '../model/metric.ts';
import { periodsOf } from '../model/period.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import { type DuePeriod, windowOf } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { liveTable, type Target } from '../warehouse/tables/target.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { RESTLESS_NIGHTS } from '../warehouse/evidence.ts';
import { dayShape, statement, timestamp } from '../warehouse/sql.ts';
import { type Run, saveWarnings, warn } from './run.ts';
import type { Source, Targets } from './source.ts';
import { readControlWindows } from './windows.ts';

const tonightRow = z.object({
  control: z.string(),
  start_day: dayShape,
  end_day: dayShape,
  metrics: z.array(z.string()),
});
const sizeRow = z.object({ control: z.string(), max_days: z.number().nullable() });
const messagesRow = z.object({ message: z.string() }).transform(({ message }) => message);
const slicesRow = z.object({ slice: z.string() }).transform(({ slice }) => slice);

/** Asks for the control totals of all slices. Returns those that were read, by slice. */
export async function readControls(
  run: Run,
  source: Source,
  targets: Targets,
  catalog: Catalog,
): Promise<Map<string, NightControl>> {
  const { warehouse, config, planAt } = run;
  const slices = [...targets.values()].map(({ slice }) => slice);
  await recordMembers(run, slices);
  if (config.controlMs === null || !source.canRequest) return new Map();
  const controls = controlsOf(slices);
  for (const { slice } of controls)
    await warehouse.run(statement('control/record_control'), [slice.name, fingerprintOf(slice)]);
  const kept = [timestamp(sizesKeptSince(planAt))];
  const sizes = await warehouse.rows(statement('control/sizes'), kept, sizeRow);
  const tonight = await readTonight(run);
  const plans: SlicePlan[] = [];
  for (const control of controls) {
    const size = sizes.find((each) => each.control === control.slice.name);
    const plan = await planControl(run, targets, control, size?.max_days ?? null);
    // What another run read as of this instant or later stays.
    const read = daysRead(tonight, control.slice.name, control.slice.metrics);
    const windows = plan?.windows.filter(({ requested }) => !isCovered(requested, read)) ?? [];
    if (plan !== null && windows.length > 0) plans.push({ ...plan, windows });
  }
  const limit = AbortSignal.timeout(limitOf(config));
  const into = { targets: controlTargets(plans, catalog, targets), limit };
  const failures = await readControlWindows(plans, run, source, into);
  // A metric that the service refuses must not cost the others their control totals.
  const refused = failures.filter(({ failure }) => failure.code === 'SOURCE_REFUSED');
  const alone = [...new Set(refused.map(({ slice }) => slice.name))].flatMap((name) => {
    const control = controls.find((each) => each.slice.name === name);
    const plan = plans.find((each) => each.slice.name === name);
    return control === undefined || plan === undefined || control.members.length < 2
      ? []
      : control.members.map((member): SlicePlan => memberPlan(plan, member));
  });
  const left =
    alone.length === 0
      ? []
      : await readControlWindows(alone, run, source, {
          targets: controlTargets(alone, catalog, targets),
          limit,
        });
  const retried = new Set(alone.map(({ slice }) => slice.control));
  for (const { failure, slice } of [
    ...failures.filter((each) => !retried.has(each.slice.control)),
    ...left,
  ]) {
    if (failure.code === 'CREDENTIALS_REFUSED' || failure.kind === 'storage') throw failure;
    const members = slices.filter(
      (member) =>
        controlName(member) === slice.control &&
        (slice.name === slice.control || slice.name === memberName(slice.control, member)),
    );
    await warnUnread(run, members, failure.message);
  }
  return nightControls(run, slices);
}

/** Control totals are light. Those of a service that hangs must not keep a night waiting. */
const MAX_MS = 300_000;

const limitOf = ({ service }: Run['config']): number =>
  service.kind === 'http' ? Math.min(MAX_MS, 5 * service.requestTimeoutMs) : MAX_MS;

/** Records which control totals the rows of each slice are compared with. */
async function recordMembers({ warehouse, config }: Run, slices: readonly Slice[]): Promise<void> {
  const members = slices.map((slice) => {
    const control = config.controlMs === null ? null : controlName(slice);
    return { slice: slice.name, fingerprint: fingerprintOf(slice), control };
  });
  await warehouse.run(statement('control/record_members'), [JSON.stringify(members)]);
}

/** Plans the windows of control totals, as few as earlier requests that were too heavy allow. */
async function planControl(
  { warehouse, config, planAt }: Run,
  targets: Targets,
  { slice, members }: Control,
  maxDays: number | null,
): Promise<SlicePlan | null> {
  const controlled = [];
  for (const member of members) {
    const ledger = await readSliceLedger(warehouse, member.name);
    controlled.push({
      slice: member,
      metrics: targets.get(member.name)?.columns.metrics ?? [],
      stored: storedPeriods(ledger, fingerprintOf(member)),
    });
  }
  const days = controlledDays(controlled, config.controlMs ?? 0, planAt);
  if (days === null) return null;
  const periods = periodsOf(days, slice.grain, slice.weekStartsOn);
  const groups: [DuePeriod, ...DuePeriod[]][] = [];
  for (const period of periods.toReversed()) {
    const due: DuePeriod = { period, reason: 'maturing' };
    const group = groups.at(-1);
    const end = group?.at(-1)?.period.requested.end;
    const isShort =
      end !== undefined &&
      (maxDays === null || daysBetween(period.requested.start, end) <= maxDays);
    if (group !== undefined && isShort) group.unshift(due);
    else groups.push([due]);
  }
  const fingerprint = fingerprintOf(slice);
  return {
    slice,
    metrics: [],
    fingerprint,
    periods,
    table: null,
    storedNewer: 0,
    waiting: 0,
    due: [],
    planAt,
    windows: groups.map((group) => windowOf(slice, fingerprint, group)).toReversed(),
  };
}

const memberName = (control: string | undefined, { name }: Slice): string => `${control}-${name}`;

/** The same for the metrics of one slice alone. */
function memberPlan(plan: SlicePlan, member: Slice): SlicePlan {
  const slice = {
    ...plan.slice,
    name: memberName(plan.slice.name, member),
    metrics: member.metrics,
  };
  const windows = plan.windows.map((window) => windowOf(slice, window.fingerprint, window.periods));
  return { ...plan, slice, windows };
}

/** A metric that does not add up in one of the slices is not summed. */
function controlTargets(plans: readonly SlicePlan[], catalog: Catalog, members: Targets): Targets {
  const notAdditive = new Set(
    [...members.values()].flatMap(({ columns }) =>
      columns.metrics.filter(({ additive }) => !additive).map(({ id }) => id),
    ),
  );
  return new Map(
    plans.map(({ slice, fingerprint }): [string, Target] => {
      const additive = Object.fromEntries([...notAdditive].map((id) => [id, false]));
      const summed = { ...slice, additive: { ...slice.additive, ...additive } };
      const columns = { dimensions: slice.dimensions, metrics: metricsOf(summed, catalog) };
      const table = liveTable(slice.name);
      return [slice.name, { slice, fingerprint, state: 'live', table, columns, catalog }];
    }),
  );
}

/** How long a slice whose rows differ from its control totals is not compared, and nothing is told again. */
const UNCOMPARED_MS = 7 * MS_PER_DAY;

async function warnedSlices(
  { warehouse, planAt }: Pick<Run, 'warehouse' | 'planAt'>,
  code: 'CONTROL_DIFFERS' | 'CONTROL_UNREAD',
): Promise<ReadonlySet<string>> {
  const request = [code, timestamp(new Date(planAt.getTime() - UNCOMPARED_MS))];
  return new Set(await warehouse.rows(statement('control/warned_slices'), request, slicesRow));
}

/** Warns of slices whose control totals could not be read, unless one of them was named lately. */
async function warnUnread(run: Run, slices: readonly Slice[], because: string): Promise<void> {
  const warned = await warnedSlices(run, 'CONTROL_UNREAD');
  const [first] = slices;
  if (first === undefined || slices.some(({ name }) => warned.has(name))) return;
  const names = slices.map(({ name }) => name).join(', ');
  const message = `The control totals of ${names} could not be read, so that these are loaded without them: ${because}`;
  warn({ code: 'CONTROL_UNREAD', message }, first.name, run);
  await saveWarnings(run);
}

type Reading = z.infer<typeof tonightRow>;

async function readTonight({ warehouse, runId, planAt }: Run): Promise<Reading[]> {
  return warehouse.rows(statement('control/tonight'), [runId, timestamp(planAt)], tonightRow);
}

/** Returns the days of which one reading has all metrics. */
const daysRead = (
  readings: readonly Reading[],
  name: string,
  metrics: readonly string[],
): DayInterval[] =>
  readings
    .filter(
      (reading) =>
        reading.control === name && metrics.every((metric) => reading.metrics.includes(metric)),
    )
    .map(({ start_day: start, end_day: end }) => ({ start, end }));

const isCovered = (days: DayInterval, read: readonly DayInterval[]): boolean =>
  joined(read).some(({ start, end }) => start <= days.start && days.end <= end);

async function nightControls(
  run: Run,
  slices: readonly Slice[],
): Promise<Map<string, NightControl>> {
  const readings = await readTonight(run);
  const different = await warnedSlices(run, 'CONTROL_DIFFERS');
  const controls = new Map<string, NightControl>();
  for (const {
    slice: { name, metrics },
    members,
  } of controlsOf(slices)) {
    const all = readings.flatMap(({ control, start_day: start, end_day: end }) =>
      control === name ? [{ start, end }] : [],
    );
    const shared = members.length === 1 ? null : { metrics, days: all };
    for (const slice of members) {
      const days = daysRead(readings, name, slice.metrics);
      if (days.length > 0 && !different.has(slice.name))
        controls.set(slice.name, { name, days, shared });
    }
  }
  return controls;
}

/** Reports what the control totals added to a plan, with totals before and after; a restless metric is told once. */
export async function reportMoved(
  run: Run,
  { slice, windows, waiting }: SlicePlan,
  { moved, restless }: ControlEvidence,
): Promise<void> {
  const starts = new Set(
    windows.flatMap(({ periods }) =>
      periods.flatMap(({ period, reason }) => (reason === 'moved' ? [period.bucket.start] : [])),
    ),
  );
  const [example] = moved.filter(({ start }) => starts.has(start)).toReversed();
  if (example !== undefined) {
    const { metric, start, before, after } = example;
    const message = `control totals of ${starts.size} ${starts.size === 1 ? 'period' : 'periods'} moved, such as ${metric} of ${start} from ${before ?? 'none'} to ${after ?? 'none'}`;
    run.emit({ type: 'totals_moved', slice: slice.name, periods: starts.size, waiting, message });
  }
  if (restless.size === 0) return;
  const earlier = await run.warehouse.rows(
    statement('control/restless_told'),
    [slice.name],
    messagesRow,
  );
  const news = [...restless].filter(
    (metric) => !earlier.some((text) => text.split(/[, ]+/).includes(metric)),
  );
  if (news.length === 0) return;
  const text = `Most final totals of ${news.join(', ')} moved in each of the last ${RESTLESS_NIGHTS} nights, as if money were converted at the rate of the day: they make no period due, and final periods are loaded again because of them once a week at most.`;
  warn({ code: 'METRIC_RESTLESS', message: text }, slice.name, run);
}
