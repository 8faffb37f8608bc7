/**
 * SQL for the rows of a batch: reads them from Parquet files, in the types of the batch. Pure: names and types in, SQL out.
 *
 * A batch uses temporary relations whose names contain a blank, and columns whose names contain a comma: no slice, dimension or
 * metric can have such a name.
 */

import { MS_PER_DAY } from '../model/calendar.ts';
import { formatColumnType } from '../model/column-type.ts';
import { computedAt } from '../model/maturity.ts';
import { endOf } from '../model/period.ts';
import type { Window } from '../model/window.ts';
import { BODY, EXTRA, REJECTED as REJECTED_COLUMN } from '../spool/columns/reading.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Spooled } from '../spool/spool.ts';
import type { SoundAnswers } from './answers.ts';
import type { ReadAnswer } from './read-answers.ts';
import { castExactly, type Columns, tableColumns, type Target } from '../tables/target.ts';

/** The temporary relations of a batch. */
export const staging = {
  /** A view: every row in the types of the batch, with WINDOW, PART and REJECTED. */
  typed: '"ripen typed"',
  /** Rows and totals of `typed` per WINDOW, PART, period and REJECTED, for the proof, the ledger and restatements. */
  totals: '"ripen totals"',
  /** Totals per period, metric and age, before and after windows are replaced. */
  before: '"ripen before"',
  after: '"ripen after"',
} as const;

/** The number of the window in its batch, that of the part in its window, and why a row is not stored (NULL if it is). */
export const [WINDOW, PART, REJECTED] = [
  '"window,"',
  '"part,"',
  identifier(REJECTED_COLUMN),
] as const;

/** One answer to a part of a window; its rows are in a Parquet file of their own, or in one with those of other answers. */
export interface StagedPart extends ReadAnswer {
  readonly windowNo: number;
  readonly partNo: number;
}

/** The number of a row among those of one answer with its key, and the last number it stands for: no end for the last row. */
const [COPY, UNTIL] = ['"copy,"', '"until,"'];
const NO_END = 2 ** 31 - 1;

/** A window whose answers are sound, its number in the batch, and its rows. */
export interface Sound extends SoundAnswers {
  readonly spooled: Spooled;
  readonly windowNo: number;
  readonly parts: readonly StagedPart[];
}

export interface Staged {
  /** The columns of the slice's table, as wide as the batch needs. */
  readonly columns: Columns;
  readonly parts: readonly StagedPart[];
  readonly replacing: Replacing;
}

/** Expressions that replace columns of the files, by name of the column. */
export type Replacing = ReadonlyMap<string, string>;

/**
 * A query for the rows of parts, in column types that hold everything in the files. Scans a list of files at once: a union of
 * one scan per file takes twice as long to insert. A scan reads all its files in the types of the first and rounds what does
 * not fit, so files of different types get separate scans.
 */
export function stagedRows(
  columns: Columns,
  parts: readonly StagedPart[],
  replacing: Replacing,
): string {
  if (isBatched(parts)) return joinedRows(columns, parts, replacing);
  const alike = grouped(parts, ({ types }) => types.map(formatColumnType).join());
  return alike.map((some) => rowsAlike(columns, some, replacing)).join('\nunion all\n');
}

/** A key that all answers of one part of a window share. */
export const placeOf = ({ windowNo, partNo }: Pick<StagedPart, 'windowNo' | 'partNo'>): string =>
  `${windowNo} ${partNo}`;

/** Whether any part of a window was answered in batches of metrics. */
export const isBatched = (parts: readonly StagedPart[]): boolean =>
  new Set(parts.map(placeOf)).size < parts.length;

/**
 * The same for parts that were answered in batches: one row per key of a part, with the values of every batch that has the key.
 * Each file has a column for every metric, NULL in the rows of other batches. A key that a batch has twice stays two rows, so
 * that the check of keys finds it: the second is joined with the second of another batch, or with its last.
 */
function joinedRows(columns: Columns, parts: readonly StagedPart[], replacing: Replacing): string {
  const batches = grouped(parts, placeOf);
  const most = Math.max(...batches.map(({ length }) => length));
  const rounds = Array.from({ length: most }, (_, at) =>
    batches.flatMap((batch) => batch.slice(at, at + 1)),
  );
  const ownKey = [WINDOW, PART, ...columns.dimensions.map(identifier), '"attr_dependency"'];
  const isDistinct = parts.every((part) => part.isDistinct);
  const ofKey = `over (partition by ${ownKey.join(', ')})`;
  const until = `case when row_number() ${ofKey} < count(*) ${ofKey} then row_number() ${ofKey} else ${NO_END} end`;
  const copy = isDistinct ? '' : `, row_number() ${ofKey} as ${COPY}, ${until} as ${UNTIL}`;
  const either = (name: string): string => `coalesce(a.${name}, b.${name}) as ${name}`;
  const extra = identifier(EXTRA);
  const values = [
    ...ownKey.map(either),
    ...columns.metrics.map(({ id }) => either(identifier(id))),
    `coalesce(json_merge_patch(a.${extra}, b.${extra}), a.${extra}, b.${extra}) as ${extra}`,
    // As items of one list: each batch may have reasons of its own.
    `nullif(concat_ws(',', a.${REJECTED}, b.${REJECTED}), '') as ${REJECTED}`,
    ...(isDistinct
      ? []
      : [`greatest(a.${COPY}, b.${COPY}) as ${COPY}`, `least(a.${UNTIL}, b.${UNTIL}) as ${UNTIL}`]),
  ].join(',\n    ');
  const isSame = [
    ...ownKey.map((name) => `a.${name} is not distinct from b.${name}`),
    // Two comparisons: the engine would compare all pairs of rows if they were joined by `or`.
    ...(isDistinct ? [] : [`a.${COPY} <= b.${UNTIL} and b.${COPY} <= a.${UNTIL}`]),
  ].join(' and ');
  return rounds
    .map((batch) => `select *${copy} from (\n${stagedRows(columns, batch, replacing)}\n)`)
    .reduce(
      (one, other) =>
        `select\n    ${values}\nfrom (${one}) as a full join (${other}) as b on ${isSame}`,
    );
}

function rowsAlike(columns: Columns, parts: readonly StagedPart[], replacing: Replacing): string {
  const valueOf = (name: string): string => replacing.get(name) ?? identifier(name);
  const values = [
    ...columns.dimensions.map((name) =>
      replacing.has(name) ? `${valueOf(name)} as ${identifier(name)}` : identifier(name),
    ),
    ...columns.metrics.map(({ id, type }, at) => {
      const from = formatColumnType(parts[0]?.types[at] ?? type);
      return `${castExactly(valueOf(id), from, formatColumnType(type))} as ${identifier(id)}`;
    }),
    '"attr_dependency"',
    // A column without any value is not read.
    parts.some(({ hasExtra }) => hasExtra)
      ? identifier(EXTRA)
      : `null::JSON as ${identifier(EXTRA)}`,
    parts.some(({ hasRejected }) => hasRejected) ? REJECTED : `null::VARCHAR as ${REJECTED}`,
  ];
  const files = grouped(parts, ({ file }) => file);
  const lists = files.map(byBody);
  const isShared = lists.some(({ length }) => length > 1);
  // Nested only if needed: a list of lists takes a twentieth of a large load's processor time (measured).
  const place = `[file_index::bigint + 1]${isShared ? `[${identifier(BODY)} + 1]` : ''}`;
  const numbers = (of: (part: StagedPart) => number): string => {
    const ofFile = lists.map((list) =>
      list.map((part) => (part === null ? 'null' : of(part))).join(', '),
    );
    return `[${ofFile.map((own) => (isShared ? `[${own}]` : own)).join(', ')}]${place}`;
  };
  const isPartly = lists.flat().includes(null);
  return `select
    ${numbers(({ windowNo }) => windowNo)}::integer as ${WINDOW},
    ${numbers(({ partNo }) => partNo)}::integer as ${PART},
    ${values.join(',\n    ')}
from read_parquet([${files.map(([part]) => literal(part?.file ?? '')).join(', ')}], hive_partitioning = false)${isPartly ? `\nwhere ${WINDOW} is not null` : ''}`;
}

/** The part of each body in one file, by number of the body; null if the part is not wanted. */
function byBody(parts: readonly StagedPart[]): (StagedPart | null)[] {
  const found = Array.from({ length: parts[0]?.bodies ?? 0 }, (): StagedPart | null => null);
  for (const part of parts) found.fill(part, part.firstBody, part.firstBody + part.pages.length);
  return found;
}

/** Groups values by a text, in the order of the first value of each group. */
function grouped<T>(values: readonly T[], textOf: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const text = textOf(value);
    const known = groups.get(text);
    if (known === undefined) groups.set(text, [value]);
    else known.push(value);
  }
  return [...groups.values()];
}

/** The columns of `typed`, all NULL. */
const noRow = ({ dimensions, metrics }: Columns): string =>
  tableColumns({ dimensions, metrics })
    .flatMap(({ name, type }) =>
      name === '_load_id' ? [] : [`null::${type} as ${identifier(name)}`],
    )
    .join(', ');

/** Creates the view `typed`; it is empty if there are no parts. */
export function stageRows({ columns, parts, replacing }: Staged): string {
  const rows =
    parts.length > 0
      ? stagedRows(columns, parts, replacing)
      : `select 0 as ${WINDOW}, 0 as ${PART}, ${noRow(columns)}, null::VARCHAR as ${REJECTED} limit 0`;
  return `create or replace temp view ${staging.typed} as\n${rows}`;
}

/** The expressions that replace columns of a batch. */
export const replacingIn = (
  sound: readonly Sound[],
  target: Target,
  fetchedAt: Date | null,
): Replacing => new Map([...withheldValues(sound, target, fetchedAt), ...cutWeeks(sound)]);

/**
 * NULL in place of zeros, for a slice that withholds immature values. If not all cohorts have reached an age, the service
 * answers zero or null, which cannot be distinguished from a measured zero (observed: mature); so a zero of a cohort that
 * cannot be complete is not a value. Any value of the parameter other than `immature` is taken to withhold, as `mature` does.
 */
function withheldValues(
  sound: readonly Sound[],
  { slice, columns }: Target,
  fetchedAt: Date | null,
): Replacing {
  const replacing = new Map<string, string>();
  if ((slice.parameters['cohort_maturity'] ?? 'immature') === 'immature') return replacing;
  for (const { id, cohort } of columns.metrics) {
    if (cohort === null) continue;
    const since = sound.map(({ spooled, maturity }) => {
      const at = computedAt(fetchedAt ?? spooled.requestedAt, maturity.computedAt).getTime();
      const incomplete = spooled.window.periods.find(
        ({ period }) =>
          endOf(period, slice.utcOffset).getTime() + cohort.completeDays * MS_PER_DAY > at,
      );
      return incomplete === undefined ? 'null' : `DATE ${literal(incomplete.period.bucket.start)}`;
    });
    if (since.every((day) => day === 'null')) continue;
    const column = identifier(id);
    const sinceHere = `[${since.join(', ')}][${WINDOW} + 1]`;
    const isIncomplete =
      slice.grain === null
        ? `${sinceHere} is not null`
        : `coalesce(${identifier(slice.grain)} >= ${sinceHere}, false)`;
    replacing.set(id, `case when not (${column} = 0 and ${isIncomplete}) then ${column} end`);
  }
  return replacing;
}

/** Whether a window requests its first week only from a later day on. */
export const beginsInWeek = ({ slice, requested, replaced }: Window): boolean =>
  slice.grain === 'week' && requested.start > replaced.start;

/** Names a week that the date period cuts by its first day, as most services do; some use its first requested day. */
function cutWeeks(sound: readonly Sound[]): Replacing {
  const cut = sound.filter(({ spooled: { window } }) => beginsInWeek(window));
  if (cut.length === 0) return new Map();
  const cases = cut.map(({ windowNo, spooled: { window } }) => {
    const { requested, replaced } = window;
    return `when ${WINDOW} = ${windowNo} and week = DATE ${literal(requested.start)} then DATE ${literal(replaced.start)}`;
  });
  return new Map([['week', `case ${cases.join(' ')} else week end`]]);
}
