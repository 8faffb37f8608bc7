/**
 * Control totals in a run: asks for them before anything is planned, and reads what they show of each slice. Without them
 * everything works as before, so no failure here is one of the run, except refused credentials.
 */

import * as z from 'zod';

import type { NightControl } from '../load/night-totals.ts';
import { daysBetween, MS_PER_DAY } from '../model/calendar.ts';
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
import { liveTable, type Target } from '../tables/target.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { RESTLESS_NIGHTS } from '../warehouse/evidence.ts';
import { dayShape, instant, statement, timestamp } from '../warehouse/sql.ts';
import { type Run, warn } from './run.ts';
import type { Source, Targets } from './source.ts';
import { readControlWindows } from './windows.ts';

const tonightRow = z.object({ control: z.string(), start_day: dayShape, end_day: dayShape });
const sizeRow = z.object({
  control: z.string(),
  max_days: z.number().nullable(),
  read_at: instant.nullable(),
});
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
  const plans: SlicePlan[] = [];
  for (const control of controls) {
    const size = sizes.find((each) => each.control === control.slice.name);
    // What a later run read stays, and so does what an earlier one read as of the same instant.
    const isRead = size !== undefined && size.read_at !== null && size.read_at >= planAt;
    const plan = isRead ? null : await planControl(run, targets, control, size?.max_days ?? null);
    if (plan !== null) plans.push(plan);
  }
  const limit = AbortSignal.timeout(limitOf(config));
  const into = { targets: controlTargets(plans, catalog), limit };
  const failures = await readControlWindows(plans, run, source, into);
  // A metric that the service refuses must not cost the others their control totals.
  const refused = failures.filter(({ failure }) => failure.code === 'SOURCE_REFUSED');
  const alone = refused.flatMap(({ slice }) => {
    const control = controls.find((each) => each.slice.name === slice.name);
    const plan = plans.find((each) => each.slice.name === slice.name);
    return control === undefined || plan === undefined || control.members.length < 2
      ? []
      : control.members.map((member): SlicePlan => memberPlan(plan, member));
  });
  const left =
    alone.length === 0
      ? []
      : await readControlWindows(alone, run, source, {
          targets: controlTargets(alone, catalog),
          limit,
        });
  const retried = new Set(alone.map(({ slice }) => slice.control));
  for (const { failure, slice } of [
    ...failures.filter((each) => !retried.has(each.slice.control)),
    ...left,
  ]) {
    if (failure.code === 'CREDENTIALS_REFUSED' || failure.kind === 'storage') throw failure;
    const members = slices.filter((member) => controlName(member) === slice.control);
    await warnOnce(run, 'CONTROL_UNREAD', members, (names) => {
      return `The control totals of ${names} could not be read, so that these are loaded without them: ${failure.message}`;
    });
  }
  return readTonight(run, slices);
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

/** The same for the metrics of one slice alone. */
function memberPlan(plan: SlicePlan, member: Slice): SlicePlan {
  const slice = {
    ...plan.slice,
    name: `${plan.slice.name}-${member.name}`,
    metrics: member.metrics,
  };
  const windows = plan.windows.map((window) => windowOf(slice, window.fingerprint, window.periods));
  return { ...plan, slice, windows };
}

function controlTargets(plans: readonly SlicePlan[], catalog: Catalog): Targets {
  return new Map(
    plans.map(({ slice, fingerprint }): [string, Target] => {
      const columns = { dimensions: slice.dimensions, metrics: metricsOf(slice, catalog) };
      const table = liveTable(slice.name);
      return [slice.name, { slice, fingerprint, state: 'live', table, columns, catalog }];
    }),
  );
}

/** How long a slice whose rows differ from its control totals is not compared, and nothing is told again. */
const UNCOMPARED_MS = 7 * MS_PER_DAY;

async function warnedSlices(
  { warehouse, planAt }: Pick<Run, 'warehouse' | 'planAt'>,
  code: 'CONTROL_DIFFERS' | 'CONTROL_UNREAD' | 'METRIC_RESTLESS',
): Promise<ReadonlySet<string>> {
  // Restless metrics stay so for months.
  const since = code === 'METRIC_RESTLESS' ? 0 : planAt.getTime() - UNCOMPARED_MS;
  const request = [code, timestamp(new Date(since))];
  return new Set(await warehouse.rows(statement('control/warned_slices'), request, slicesRow));
}

/** Warns of slices, unless each was warned of lately. */
async function warnOnce(
  run: Run,
  code: 'CONTROL_UNREAD' | 'METRIC_RESTLESS',
  slices: readonly Slice[],
  message: (names: string) => string,
): Promise<void> {
  const warned = await warnedSlices(run, code);
  const [first, ...others] = slices.filter(({ name }) => !warned.has(name));
  if (first === undefined) return;
  const names = [first, ...others].map(({ name }) => name).join(', ');
  await warn({ code, message: message(names) }, first.name, run);
}

async function readTonight(run: Run, slices: readonly Slice[]): Promise<Map<string, NightControl>> {
  const { warehouse, runId, planAt } = run;
  const tonight = [runId, timestamp(planAt)];
  const rows = await warehouse.rows(statement('control/tonight'), tonight, tonightRow);
  const different = await warnedSlices(run, 'CONTROL_DIFFERS');
  const controls = new Map<string, NightControl>();
  for (const slice of slices) {
    const name = controlName(slice);
    const days = rows.flatMap(({ control, start_day: start, end_day: end }) =>
      control === name ? [{ start, end }] : [],
    );
    if (name !== null && days.length > 0 && !different.has(slice.name))
      controls.set(slice.name, { name, days });
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
    const message = `control totals of ${starts.size} periods moved, such as ${metric} of ${start} from ${before ?? 'none'} to ${after ?? 'none'}`;
    run.emit({ type: 'totals_moved', slice: slice.name, periods: starts.size, waiting, message });
  }
  if (restless.size === 0) return;
  await warnOnce(run, 'METRIC_RESTLESS', [slice], () => {
    return `Most final totals of ${[...restless].join(', ')} moved in each of the last ${RESTLESS_NIGHTS} nights, as if money were converted at the rate of the day: they make no period due, and final periods are loaded again because of them once a week at most.`;
  });
}
