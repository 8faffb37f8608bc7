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
import { BODY, EXTRA, REJECTED as REJECTED_COLUMN } from '../extract/columns/reading.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { PageRead } from './read-pages.ts';
import {
  castExactly,
  type Columns,
  tableColumns,
  type Target,
} from '../warehouse/tables/target.ts';

/** The temporary relations of a batch. */
export const staging = {
  /** A view: every row that came, in the types of the batch, with WINDOW, ANSWER and REJECTED. */
  answers: '"ripen answers"',
  /** A view: the rows of windows with WINDOW and REJECTED; batches of metrics are joined. */
  typed: '"ripen typed"',
  /** Rows and totals of `answers` per WINDOW, ANSWER, period and REJECTED, for the proof, the ledger and restatements. */
  totals: '"ripen totals"',
  /** Totals per period, metric and age, before and after windows are replaced. */
  before: '"ripen before"',
  after: '"ripen after"',
} as const;

/** The number of the window in its batch, that of the answer in its window, and why a row is not stored (NULL if it is). */
export const [WINDOW, ANSWER, REJECTED] = [
  '"window,"',
  '"answer,"',
  identifier(REJECTED_COLUMN),
] as const;

/** One page of an answer; its rows are in a Parquet file of their own, or in one with those of other pages. */
export interface StagedPage extends PageRead {
  readonly windowNo: number;
  readonly answerNo: number;
}

/** The rows of a batch. */
export interface Staged {
  /** The columns of the slice's table, as wide as the batch needs. */
  readonly columns: Columns;
  readonly pages: readonly StagedPage[];
  /** Expressions that replace columns of the files, by name of the column. */
  readonly replacing: ReadonlyMap<string, string>;
  /** Whether a window was requested in batches of metrics, whose rows are to be joined. */
  readonly isBatched: boolean;
}

/** Creates the views `answers` and `typed`. */
export const stageRows = (staged: Staged): string =>
  `create or replace temp view ${staging.answers} as
${answeredRows(staged)};
create or replace temp view ${staging.typed} as
${staged.isBatched ? joinedRows(staged.columns, staging.answers) : `select * from ${staging.answers}`}`;

/** A query for the rows of `typed` in these columns, which may be wider than those of the batch. */
export function typedRows(staged: Staged): string {
  const rows = answeredRows(staged);
  return staged.isBatched ? joinedRows(staged.columns, `(\n${rows}\n)`) : rows;
}

/**
 * Scans a list of files at once: a union of one scan per file takes twice as long to insert. A scan reads all its files in the
 * types of the first and rounds what does not fit, so files of different types get separate scans.
 */
function answeredRows(staged: Staged): string {
  const { columns, pages } = staged;
  if (pages.length === 0) {
    const none = tableColumns({ dimensions: columns.dimensions, metrics: columns.metrics })
      .filter(({ name }) => name !== '_load_id')
      .map(({ name, type }) => `null::${type} as ${identifier(name)}`);
    return `select 0 as ${WINDOW}, 0 as ${ANSWER}, ${none.join(', ')}, null::VARCHAR as ${REJECTED} limit 0`;
  }
  const typesOf = ({ types }: StagedPage): string =>
    [...types.values()].map(formatColumnType).join();
  return grouped(pages, typesOf)
    .map((alike) => rowsAlike(staged, alike))
    .join('\nunion all\n');
}

function rowsAlike({ columns, replacing }: Staged, pages: readonly StagedPage[]): string {
  const valueOf = (name: string): string => replacing.get(name) ?? identifier(name);
  const values = [
    ...columns.dimensions.map((name) =>
      replacing.has(name) ? `${valueOf(name)} as ${identifier(name)}` : identifier(name),
    ),
    ...columns.metrics.map(({ id, type }) => {
      const from = formatColumnType(pages[0]?.types.get(id) ?? type);
      return `${castExactly(valueOf(id), from, formatColumnType(type))} as ${identifier(id)}`;
    }),
    '"attr_dependency"',
    // A column without any value is not read.
    pages.some(({ hasExtra }) => hasExtra)
      ? identifier(EXTRA)
      : `null::JSON as ${identifier(EXTRA)}`,
    pages.some(({ hasRejected }) => hasRejected) ? REJECTED : `null::VARCHAR as ${REJECTED}`,
  ];
  const files = grouped(pages, ({ file }) => file);
  const bodies = files.map((ofFile) =>
    Array.from(
      { length: ofFile[0]?.bodies ?? 0 },
      (_, bodyNo) => ofFile.find((page) => page.bodyNo === bodyNo) ?? null,
    ),
  );
  const isShared = bodies.some(({ length }) => length > 1);
  // Nested only if needed: a list of lists takes a twentieth of a large load's processor time (measured).
  const place = `[file_index::bigint + 1]${isShared ? `[${identifier(BODY)} + 1]` : ''}`;
  const numbers = (numberOf: (page: StagedPage) => number): string => {
    const lists = bodies.map((ofFile) =>
      ofFile.map((page) => (page === null ? 'null' : numberOf(page))).join(', '),
    );
    return `[${lists.map((list) => (isShared ? `[${list}]` : list)).join(', ')}]${place}::integer`;
  };
  const isPartly = bodies.flat().includes(null);
  return `select
    ${numbers(({ windowNo }) => windowNo)} as ${WINDOW},
    ${numbers(({ answerNo }) => answerNo)} as ${ANSWER},
    ${values.join(',\n    ')}
from read_parquet([${files.map(([page]) => literal(page?.file ?? '')).join(', ')}], hive_partitioning = false)${isPartly ? `\nwhere ${WINDOW} is not null` : ''}`;
}

/**
 * One row per key of a window, with the values of every batch of metrics that has the key. Copies of a row become one: those
 * with different values fail their window before its rows are used.
 */
function joinedRows({ dimensions, metrics }: Columns, rows: string): string {
  const key = [WINDOW, ...dimensions.map(identifier), '"attr_dependency"'].join(', ');
  const values = metrics.map(({ id }) => `any_value(${identifier(id)}) as ${identifier(id)}`);
  const extra = identifier(EXTRA);
  return `select
    ${key},
    ${values.join(',\n    ')},
    list_reduce(list(${extra}) filter (where ${extra} is not null), lambda one, other: json_merge_patch(one, other)) as ${extra},
    string_agg(distinct ${REJECTED}, ',') as ${REJECTED}
from ${rows}
group by ${key}`;
}

/** Groups values by a text, in the order of the first value of each group. */
function grouped<T>(values: readonly T[], textOf: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const text = textOf(value);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [value]);
    else group.push(value);
  }
  return [...groups.values()];
}

/** A window of a batch, and when its answers were computed: its values as of that instant. */
export interface StagedWindow {
  readonly window: Window;
  readonly windowNo: number;
  readonly fetchedAt: Date;
  /** Null if no answer states it. */
  readonly computedAt: Date | null;
}

/** The expressions that replace columns of a batch. */
export const replacingIn = (
  windows: readonly StagedWindow[],
  target: Target,
): ReadonlyMap<string, string> =>
  new Map([...withheldValues(windows, target), ...cutWeeks(windows)]);

/**
 * NULL in place of zeros, for a slice that withholds immature values. If not all cohorts have reached an age, the service
 * answers zero or null, which cannot be distinguished from a measured zero (observed: mature); so a zero of a cohort that
 * cannot be complete is not a value. Any value of the parameter other than `immature` is taken to withhold, as `mature` does.
 */
function withheldValues(
  windows: readonly StagedWindow[],
  { slice, columns }: Target,
): ReadonlyMap<string, string> {
  const replacing = new Map<string, string>();
  if ((slice.parameters['cohort_maturity'] ?? 'immature') === 'immature') return replacing;
  for (const { id, cohort } of columns.metrics) {
    if (cohort === null) continue;
    const since = windows.map(({ window, ...staged }) => {
      const at = computedAt(staged.fetchedAt, staged.computedAt).getTime();
      const incomplete = window.periods.find(
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
export const beginsInWeek = ({
  slice,
  requested,
  replaced,
}: Pick<Window, 'slice' | 'requested' | 'replaced'>): boolean =>
  slice.grain === 'week' && requested.start > replaced.start;

/** Names a week that the date period cuts by its first day, as most services do; some use its first requested day. */
function cutWeeks(windows: readonly StagedWindow[]): ReadonlyMap<string, string> {
  const cut = windows.filter(({ window }) => beginsInWeek(window));
  if (cut.length === 0) return new Map();
  const cases = cut.map(({ windowNo, window: { requested, replaced } }) => {
    return `when ${WINDOW} = ${windowNo} and week = DATE ${literal(requested.start)} then DATE ${literal(replaced.start)}`;
  });
  return new Map([['week', `case ${cases.join(' ')} else week end`]]);
}
