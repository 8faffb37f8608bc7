/**
 * Brings a batch's rows into `typed`: a view of the columns that were read, or a table of texts that SQL casts, once it is
 * decided what becomes of those in an unusual form.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { type Day, type DayInterval, parseWeekStart, type WeekStart } from '../model/calendar.ts';
import type { ColumnType } from '../model/column-type.ts';
import { subjectOf } from '../model/window.ts';
import { asScript, count, dayShape } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Sound } from './answers.ts';
import { beginsInWeek, nameCutWeeks } from './cut-weeks.ts';
import type { ColumnAnswer, ReadAnswers } from './load-result.ts';
import { nearestDoubles, resolveTexts } from './odd-texts.ts';
import type { Target } from './target.ts';
import { anyOdd, rejectedRows, typeRows } from './text-sql.ts';
import { type ColumnPart, columnRows, dropTyped, stagedTexts, typedColumns, typedRows } from './window-sql.ts';
import { withholds } from './withheld.ts';

export interface Staged {
  /** The columns of `typed`, as wide as the batch needs them. */
  readonly columns: Target['columns'];
  /** A query for the rows of some windows, each with at least one. */
  readonly rowsOf: (windowNos: readonly number[]) => string;
  /** Makes `typed` where it is a view; null for a table, which is filled already. */
  readonly view: string | null;
  /** Set for a batch that was read into columns: what its reader saw besides. */
  readonly seen: Seen | null;
  /** By window, the rows that could not be stored exactly. */
  readonly rejects: ReadonlyMap<number, Rejects>;
}

/** What the column reader saw of the rows while it read them. */
interface Seen {
  /** The weekday that a window's weeks begin with, where it has one. */
  readonly weekStarts: ReadonlyMap<number, WeekStart>;
  /** Windows whose rows did not come in the order of their dates. */
  readonly outOfOrder: ReadonlySet<number>;
  /** Windows in which a key may occur more than once: within a part, or in several. */
  readonly repeating: ReadonlySet<number>;
}

/** A row that could not be stored exactly. */
export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  /** The row as JSON. */
  readonly row: string;
}

export interface Rejects {
  /** One per row and reason. */
  readonly recorded: readonly Reject[];
  /** The day each row belongs to; null where none is known. */
  readonly days: readonly (Day | null)[];
  /** Metrics whose texts were no numbers. */
  readonly metrics: ReadonlySet<string>;
  /** Set when the window has more of them than its slice tolerates. */
  readonly failure: Failure | null;
}

/** Makes `typed` of rows that lie in columns already; the slice's table is not touched. */
export async function stageColumns(
  warehouse: Warehouse,
  sound: readonly Sound[],
  read: ReadAnswers,
  target: Target,
): Promise<Staged> {
  const { columns, table } = target;
  const parts = partsOf(sound, read);
  // Of values that are withheld some are to be changed yet, and the names of weeks that were cut.
  const cut = sound.filter(({ spooled }) => beginsInWeek(spooled.window));
  const isChanged = withholds(target.slice) || cut.length > 0;
  const typed = typedColumns(isChanged ? 'table' : 'view', table, columns, parts);
  if (isChanged) await warehouse.run(asScript([dropTyped.view, typed]));
  await nameCutWeeks(warehouse, cut);
  return {
    columns,
    rowsOf: (windowNos) =>
      isChanged
        ? typedRows(windowNos)
        : columnRows(
            columns,
            parts.filter(({ windowNo }) => windowNos.includes(windowNo)),
          ),
    view: isChanged ? null : typed,
    seen: {
      weekStarts: weekStartsIn(parts),
      outOfOrder: new Set(parts.flatMap(({ isOrdered, windowNo }) => (isOrdered ? [] : [windowNo]))),
      // Two names of one week make one key of two.
      repeating: new Set([...repeatingIn(parts), ...cut.map(({ windowNo }) => windowNo)]),
    },
    rejects: new Map(),
  };
}

/** The parts of windows that have rows. */
function partsOf(sound: readonly Sound[], read: ReadAnswers): (ColumnAnswer & ColumnPart)[] {
  return sound.flatMap(({ spooled, windowNo }) =>
    read
      .of(spooled)
      .flatMap((part, partNo) => (part === null || part.rows === 0 ? [] : [{ ...part, partNo, windowNo }])),
  );
}

type KeyedPart = Pick<ColumnAnswer, 'isDistinct'> & { readonly windowNo: number };

/** The windows with a part that may hold a key twice, or with several parts, two of which may hold it; parts by window. */
export function repeatingIn(parts: readonly KeyedPart[]): Set<number> {
  const isAlone = (at: number): boolean => parts[at - 1]?.windowNo !== parts[at]?.windowNo;
  return new Set(parts.flatMap(({ isDistinct, windowNo }, at) => (isDistinct && isAlone(at) ? [] : [windowNo])));
}

/** The weekday that weeks begin with in each window all of whose parts agree on it. */
function weekStartsIn(
  parts: readonly (Pick<ColumnAnswer, 'weekStartsOn'> & { readonly windowNo: number })[],
): Map<number, WeekStart> {
  const found = new Map<number, Set<number | null>>();
  for (const { windowNo, weekStartsOn } of parts) {
    found.set(windowNo, (found.get(windowNo) ?? new Set()).add(weekStartsOn));
  }
  return new Map(
    [...found].flatMap(([windowNo, days]): [number, WeekStart][] => {
      const [day] = days;
      const known = days.size === 1 ? parseWeekStart(day) : null;
      return known === null ? [] : [[windowNo, known]];
    }),
  );
}

const rejectRow = z.object({
  window_no: z.number(),
  metric: z.string(),
  day: dayShape.nullable(),
  reason: z.string(),
  row: z.string(),
});

type RejectRow = z.infer<typeof rejectRow>;

/** Whether a number was rejected only because the column of its metric would round it. */
const wouldRound = (metric: string, reason: string): boolean => reason.includes(nearestDoubles(metric));

/** Reasons named in one message; the others are in `ripen.rejected_rows`. */
const EXAMPLES = 3;

/** Fills `typed` with rows that were read as texts; the slice's table is not touched. */
export async function stageTexts(
  warehouse: Warehouse,
  sound: readonly Sound[],
  read: ReadAnswers,
  target: Target,
): Promise<Staged> {
  const parts = partsOf(sound, read);
  if (parts.length === 0) return stageColumns(warehouse, sound, read, target);
  await warehouse.run(asScript([dropTyped.view, stagedTexts(target.columns, parts)]));
  const typed = await typeTexts(warehouse, sound, target);
  await nameCutWeeks(warehouse, sound);
  return { ...typed, rowsOf: typedRows, view: null, seen: null };
}

async function typeTexts(
  warehouse: Warehouse,
  sound: readonly Sound[],
  target: Target,
): Promise<Pick<Staged, 'columns' | 'rejects'>> {
  const { columns } = target;
  await warehouse.run(typeRows(columns, new Set(), new Set()));
  if (!(await hasOddTexts(warehouse))) return { rejects: new Map(), columns };
  const resolution = await resolveTexts(warehouse, columns, target.table);
  const wider = { ...columns, metrics: widened(target, resolution.widened) };
  const unusual = new Set(resolution.plain.map(({ metric }) => metric));
  const rejecting = new Set(resolution.notNumbers.map(({ metric }) => metric));
  await warehouse.run(typeRows(wider, unusual, rejecting));
  if (await hasOddTexts(warehouse)) throw new RangeError('A text was neither cast nor rejected.');
  if (rejecting.size === 0) return { columns: wider, rejects: new Map() };
  await warehouse.run(typeRows(wider, unusual, rejecting, 'rejected'));
  const rejected = await warehouse.rows(rejectedRows(wider, rejecting), [], rejectRow);
  return { columns: wider, rejects: rejectsByWindow(sound, rejected) };
}

function widened(target: Target, types: ReadonlyMap<string, ColumnType>): Target['columns']['metrics'] {
  return target.columns.metrics.map((metric) => ({ ...metric, type: types.get(metric.id) ?? metric.type }));
}

function rejectsByWindow(sound: readonly Sound[], rejected: readonly RejectRow[]): Map<number, Rejects> {
  const byWindow = new Map<number, RejectRow[]>();
  for (const row of rejected) {
    const mine = byWindow.get(row.window_no);
    if (mine === undefined) byWindow.set(row.window_no, [row]);
    else mine.push(row);
  }
  return new Map(
    sound.flatMap(({ windowNo, spooled: { window } }): [number, Rejects][] => {
      const mine = byWindow.get(windowNo);
      return mine === undefined ? [] : [[windowNo, rejectsOf(mine, window)]];
    }),
  );
}

function rejectsOf(rejected: readonly RejectRow[], window: Sound['spooled']['window']): Rejects {
  // A row with two bad metrics is one row.
  const days = new Map(rejected.map(({ row, day }) => [row, day]));
  const rows = days.size;
  const examples = [...new Set(rejected.map(({ reason }) => reason))].slice(0, EXAMPLES).join('; ');
  const { name, maxRejects } = window.slice;
  const rounded = new Set(rejected.flatMap(({ metric, reason }) => (wouldRound(metric, reason) ? [metric] : [])));
  const remedies = [...rounded].map((metric) => `state \`${nearestDoubles(metric)}\` to load the nearest numbers`);
  const failure = new Failure(
    'DATA_REJECTED',
    `${subjectOf(window)}: ${rows} rows could not be stored exactly (${examples}).`,
    {
      facts: { rows, tolerated: maxRejects },
      hint: ['Look at ripen.rejected_rows', ...remedies, 'raise max_rejects to load the rest without them.'].join('; '),
    },
  );
  return {
    recorded: rejected.map(({ reason, row }) => ({ slice: name, days: window.asked, reason, row })),
    days: [...days.values()],
    metrics: new Set(rejected.map(({ metric }) => metric)),
    failure: rows > maxRejects ? failure : null,
  };
}

/** Whether `typed` lacks the value of some text: it is in an unusual form, does not fit its column, or is no number. */
export async function hasOddTexts(warehouse: Warehouse): Promise<boolean> {
  const [found] = await warehouse.rows(anyOdd, [], z.object({ rows: count }));
  return found !== undefined && found.rows > 0;
}
