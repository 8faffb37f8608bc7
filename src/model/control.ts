/** Control totals, which one internal slice reads for all slices whose totals mean the same. */

import * as z from 'zod';

import { alike } from './alike.ts';
import {
  addDays,
  bucketOf,
  type Day,
  day,
  dayAt,
  type DayInterval,
  lastDay,
  MS_PER_DAY,
  spanOf,
} from './calendar.ts';
import type { Metric } from './metric.ts';
import { bucketFor, coverageOf, type Period } from './period.ts';
import { fingerprintOf, MAX_URL_BYTES, type Slice } from './slice.ts';
import { hasRoom, isFiltered } from './window.ts';

export interface Control {
  readonly slice: Slice;
  readonly members: readonly Slice[];
}

const ordering = new Set(['sort', 'index', 'limit']);

/** Leaves out slices without a date, and with a filter of a metric, which applies to grouped rows. */
export function controlsOf(slices: readonly Slice[]): Control[] {
  const named = slices.flatMap((slice) => {
    const name = controlName(slice);
    return name === null ? [] : [{ name, slice }];
  });
  return alike(named, ({ name }) => name).map((group) => {
    const [{ name, slice: first }] = group;
    const members = group.map(({ slice }) => slice);
    const { grain, datePeriod, utcOffset, weekStartsOn, headers } = first;
    // A metric adds up only if every slice that states it says so.
    const additive = members.flatMap((member) => Object.entries(member.additive));
    const slice: Slice = {
      name,
      control: name,
      dimensions: grain === null ? [] : [grain],
      metrics: [...new Set(members.flatMap(({ metrics }) => metrics))],
      grain,
      datePeriod,
      utcOffset,
      weekStartsOn,
      parameters: parametersOf(first),
      headers,
      maxUrlBytes: Math.min(...members.map(({ maxUrlBytes = MAX_URL_BYTES }) => maxUrlBytes)),
      refresh: 'nightly',
      horizons: [],
      settleMs: Math.max(...members.map(({ settleMs }) => settleMs)),
      lifetimeMs: 0,
      types: Object.fromEntries(members.flatMap(({ types }) => Object.entries(types))),
      additive: Object.fromEntries(additive.toSorted(([, a], [, b]) => Number(b) - Number(a))),
      completeness: 'require',
      retainDays: null,
      maxRejects: 0,
    };
    return { slice, members };
  });
}

/** Contains a hyphen, so that no configured slice has it. */
export function controlName(slice: Slice): string | null {
  const { grain, headers, weekStartsOn } = slice;
  if (grain === null || isFiltered({ slice })) return null;
  if (!hasRoom({ ...slice, dimensions: [grain] })) return null;
  const week = grain === 'week' ? `-${weekStartsOn}` : '';
  return `control-${fingerprintOf({ dimensions: [grain], parameters: parametersOf(slice), headers })}${week}`;
}

const parametersOf = ({ parameters }: Slice): Slice['parameters'] =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => !ordering.has(name)));

/** Returns the days that a member covers and that may still change, or are at most `controlMs` old. */
export function controlledDays(
  members: readonly {
    readonly slice: Slice;
    readonly metrics: readonly Metric[];
    readonly stored: readonly Pick<Period, 'requested'>[];
  }[],
  controlMs: number,
  planAt: Date,
): DayInterval | null {
  const [first, ...others] = members.flatMap(({ slice, metrics, stored }) => {
    const covered = coverageOf(slice, stored, planAt);
    if (covered === null) return [];
    const changingMs = metrics.map(({ horizonMs }) => horizonMs ?? slice.lifetimeMs);
    const backMs = Math.max(controlMs, ...changingMs) + slice.settleMs;
    const { grain, utcOffset, weekStartsOn } = slice;
    const today = dayAt(planAt, utcOffset);
    const oldest = addDays(today, -Math.ceil(backMs / MS_PER_DAY) - 1);
    if (oldest >= covered.end) return [];
    // A part of a bucket would look like a total that has fallen, to a slice that covers all of it.
    const bucketAt = (of: Day) => bucketOf(of, bucketFor(grain ?? 'day'), weekStartsOn);
    const { start } = bucketAt(oldest > covered.start ? oldest : covered.start);
    const { end } = bucketAt(lastDay(covered));
    return [{ start, end: end > today ? covered.end : end }];
  });
  return first === undefined ? null : spanOf(first, ...others);
}

/** Totals that differ from those their periods were loaded with, or may differ, as none were known then. */
export const movedTotals = z
  .object({
    /** Empty unless the slice is a cube. */
    age: z.string(),
    metric: z.string(),
    isFinal: z.boolean(),
    isKnown: z.boolean(),
    periods: z.array(
      z.object({
        start: z.string().transform(day),
        before: z.number().nullable(),
        after: z.number().nullable(),
      }),
    ),
  })
  .transform(({ periods, ...of }) => periods.map((period) => ({ ...of, ...period })));

type Moved = Readonly<z.infer<typeof movedTotals>[number]>;

export interface ControlEvidence {
  readonly moved: readonly Moved[];
  readonly restless: ReadonlySet<string>;
  /** Windows that could not be loaded in the last weeks. */
  readonly failed: readonly { readonly first: Day; readonly last: Day; readonly at: Date }[];
}
