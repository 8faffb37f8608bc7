/**
 * Control totals in a run, requested before anything is planned. Everything works without them: no failure but of the storage or
 * the credentials is one of the run.
 */

import * as z from 'zod';

import type { NightControl } from '../load/control-totals.ts';
import { daysBetween, MS_PER_DAY, unionOf } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import {
  type Control,
  controlledDays,
  type ControlEvidence,
  controlName,
  controlsOf,
} from '../model/control.ts';
import { sizesKeptSince, storedPeriods } from '../model/ledger.ts';
import { countText } from '../model/measure.ts';
import { metricsOf } from '../model/metric.ts';
import { periodsOf } from '../model/period.ts';
import { fingerprintOf } from '../model/slice.ts';
import { type DuePeriod, type Window, windowOf } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import { liveTable, type Target } from '../warehouse/tables/target.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import { RESTLESS_NIGHTS } from '../warehouse/tables/lost-apps.ts';
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
const metricRow = z.object({ metric: z.string() }).transform(({ metric }) => metric);
const slicesRow = z.object({ slice: z.string() }).transform(({ slice }) => slice);

export async function readControls(
  run: Run,
  source: Source,
  targets: Targets,
  catalog: Catalog,
): Promise<Map<string, NightControl>> {
  const { warehouse, config, planAt } = run;
  const { service } = config;
  const slices = [...targets.values()].map(({ slice }) => slice);
  const members = slices.map((slice) => {
    const control = config.controlMs === null ? null : controlName(slice);
    return { slice: slice.name, fingerprint: fingerprintOf(slice), control };
  });
  await warehouse.run(statement('control/record_members'), [JSON.stringify(members)]);
  if (config.controlMs === null || !source.canRequest) return new Map();
  const controls = controlsOf(slices);
  const recorded = controls.map(({ slice }) => {
    return { slice: slice.name, fingerprint: fingerprintOf(slice) };
  });
  await warehouse.run(statement('control/record_controls'), [JSON.stringify(recorded)]);
  const since = [timestamp(sizesKeptSince(planAt))];
  const sizes = await warehouse.rows(statement('control/sizes'), since, sizeRow);
  const tonight = await readTonight(run);
  const windows: Window[] = [];
  for (const control of controls) {
    const { name, metrics } = control.slice;
    const maxDays = sizes.find((size) => size.control === name)?.max_days ?? null;
    // What another run read as of this instant or later stays.
    const read = unionOf(daysRead(tonight, name, metrics));
    for (const window of await controlWindows(run, targets, control, maxDays)) {
      const { start, end } = window.requested;
      if (!read.some((days) => days.start <= start && end <= days.end)) windows.push(window);
    }
  }
  // A limit of time costs the oldest.
  windows.sort((one, other) => other.requested.end.localeCompare(one.requested.end));
  const maxMs = service.kind === 'http' ? Math.min(MAX_MS, 5 * service.requestTimeoutMs) : MAX_MS;
  const limit = AbortSignal.timeout(maxMs);
  // In a session apart, as what is cached of the slices' own periods stays true.
  const readWindows = async (of: readonly Window[]): ReturnType<typeof readControlWindows> =>
    warehouse.withSession(async (session) => {
      const into = { targets: controlTargets(of, catalog, targets), limit };
      return readControlWindows(of, { ...run, warehouse: session }, source, into);
    }, 'apart');
  const failures = await readWindows(windows);
  // A metric that the service refuses must not cost the others their control totals.
  const membersOf = new Map(controls.map(({ slice, members }) => [slice.name, members]));
  const alone = windows.flatMap(({ slice, fingerprint, periods }) => {
    const members = membersOf.get(slice.name) ?? [];
    const isRefused = failures.some(
      (of) => of.failure.code === 'SOURCE_REFUSED' && of.slice.name === slice.name,
    );
    if (members.length < 2 || !isRefused) return [];
    return members.map((member) => {
      const name = `${slice.name}-${member.name}`;
      membersOf.set(name, [member]);
      return windowOf({ ...slice, name, metrics: member.metrics }, fingerprint, periods);
    });
  });
  const unread = failures.filter(
    (of) => !alone.some(({ slice }) => slice.control === of.slice.control),
  );
  if (alone.length > 0) unread.push(...(await readWindows(alone)));
  for (const { failure, slice } of unread) {
    if (failure.kind === 'storage') throw failure;
    const names = (membersOf.get(slice.name) ?? []).map(({ name }) => name);
    const warned = await warnedSlices(run, 'CONTROL_UNREAD');
    const [first] = names;
    if (first === undefined || names.some((name) => warned.has(name))) continue;
    // The failure names the internal slice.
    const because = failure.message.replaceAll(slice.name, first);
    const message = `The control totals of ${names.join(', ')} could not be read, so they are not compared tonight: ${because}`;
    warn('CONTROL_UNREAD', message, first, run);
    await saveWarnings(run);
  }
  const readings = await readTonight(run);
  const different = await warnedSlices(run, 'CONTROL_DIFFERS');
  const nightControls = new Map<string, NightControl>();
  for (const control of controls) {
    const { name } = control.slice;
    for (const slice of control.members) {
      const days = daysRead(readings, name, slice.metrics);
      const isDoubted = different.has(slice.name);
      if (days.length > 0) nightControls.set(slice.name, { name, days, isDoubted });
    }
  }
  return nightControls;
}

/** They are light. A service that hangs must not keep a night waiting. */
const MAX_MS = 300_000;

async function controlWindows(
  { warehouse, config, planAt }: Run,
  targets: Targets,
  { slice, members }: Control,
  maxDays: number | null,
): Promise<Window[]> {
  const controlled = await Promise.all(
    members.map(async (member) => {
      const ledger = await readSliceLedger(warehouse, member.name);
      const metrics = targets.get(member.name)?.columns.metrics ?? [];
      return { slice: member, metrics, stored: storedPeriods(ledger, fingerprintOf(member)) };
    }),
  );
  const days = controlledDays(controlled, config.controlMs ?? 0, planAt);
  if (days === null) return [];
  const groups: DuePeriod[][] = [];
  for (const period of periodsOf(days, slice.grain, slice.weekStartsOn).toReversed()) {
    const group = groups.at(-1);
    const end = group?.at(-1)?.period.requested.end;
    const isShort =
      end !== undefined &&
      (maxDays === null || daysBetween(period.requested.start, end) <= maxDays);
    if (group !== undefined && isShort) group.unshift({ period, reason: 'maturing' });
    else groups.push([{ period, reason: 'maturing' }]);
  }
  return groups.map((group) => windowOf(slice, fingerprintOf(slice), group));
}

/** A metric that does not add up in one of the slices is not summed. */
function controlTargets(windows: readonly Window[], catalog: Catalog, members: Targets) {
  const metrics = [...members.values()].flatMap(({ columns }) => columns.metrics);
  const additive = Object.fromEntries(
    metrics.filter((metric) => !metric.additive).map(({ id }) => [id, false]),
  );
  return new Map(
    windows.map(({ slice, fingerprint }): [string, Target] => {
      const summed = { ...slice, additive: { ...slice.additive, ...additive } };
      const columns = { dimensions: slice.dimensions, metrics: metricsOf(summed, catalog) };
      const table = liveTable(slice.name);
      return [slice.name, { slice, fingerprint, state: 'live', table, columns, catalog }];
    }),
  );
}

/** How long a slice that differs is not compared, and nothing is told again. */
const UNCOMPARED_MS = 7 * MS_PER_DAY;

async function warnedSlices(
  { warehouse, planAt }: Run,
  code: 'CONTROL_DIFFERS' | 'CONTROL_UNREAD',
): Promise<ReadonlySet<string>> {
  const request = [code, timestamp(new Date(planAt.getTime() - UNCOMPARED_MS))];
  return new Set(await warehouse.rows(statement('control/warned_slices'), request, slicesRow));
}

type Reading = z.infer<typeof tonightRow>;

async function readTonight({ warehouse, runId, planAt }: Run): Promise<Reading[]> {
  return warehouse.rows(statement('control/tonight'), [runId, timestamp(planAt)], tonightRow);
}

function daysRead(readings: readonly Reading[], name: string, metrics: readonly string[]) {
  return readings
    .filter(
      (reading) =>
        reading.control === name && metrics.every((metric) => reading.metrics.includes(metric)),
    )
    .map(({ start_day: start, end_day: end }) => ({ start, end }));
}

/** A restless metric is told once. */
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
  const due = moved.filter(({ start }) => starts.has(start));
  const known = due.filter(({ isKnown }) => isKnown);
  const example = known.at(-1);
  if (due.length > 0) {
    const periods = new Set(known.map(({ start }) => start)).size;
    const moves: string[] = [];
    if (example !== undefined) {
      const { metric, start, before, after } = example;
      moves.push(
        `control totals of ${countText(periods, 'period')} moved, such as ${metric} of ${start} from ${before ?? 'none'} to ${after ?? 'none'}`,
      );
    }
    if (periods < starts.size)
      moves.push(
        `${countText(starts.size - periods, 'period')} had been loaded without control totals`,
      );
    const message = moves.join('; ');
    run.emit({ type: 'totals_moved', slice: slice.name, periods: starts.size, waiting, message });
  }
  if (restless.size === 0) return;
  const told = statement('control/restless_told');
  const earlier = new Set(await run.warehouse.rows(told, [slice.name], metricRow));
  const news = [...restless].filter((metric) => !earlier.has(metric));
  if (news.length === 0) return;
  const text = `Most final totals of ${news.join(', ')} moved in each of the last ${RESTLESS_NIGHTS} nights, as if money were converted at the rate of the day: they make no period due, and final periods are loaded again because of them once a week at most.`;
  warn('METRIC_RESTLESS', text, slice.name, run);
}
