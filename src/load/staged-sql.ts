/**
 * SQL for the rows of a batch. Pure. Temporary relations have a blank in their names, and own columns a comma, which no
 * slice, dimension or metric can have.
 */

import { alike } from '../model/alike.ts';
import { bucketOf, type DayInterval, MS_PER_DAY } from '../model/calendar.ts';
import { formatColumnType } from '../model/column-type.ts';
import { computedAt } from '../model/maturity.ts';
import { endOf } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import { BODY, EXTRA, REJECTED as REJECTED_COLUMN } from '../extract/columns/reading.ts';
import {
  castExactly,
  type Columns,
  insideDays,
  periodOf,
  tableColumns,
} from '../warehouse/tables/target.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import { isBatched, pagesOf, type Readable, type StagedPage } from './answered.ts';

/** The window's number in its batch, the answer's in its window, the page's in its answer, and why a row is not stored. */
export const [WINDOW, ANSWER, PAGE, REJECTED] = [
  '"window,"',
  '"answer,"',
  '"page,"',
  identifier(REJECTED_COLUMN),
] as const;

export interface Staged {
  readonly slice: Slice;
  readonly columns: Columns;
  readonly windows: readonly Readable[];
  readonly pages: readonly StagedPage[];
  /** By column of the files: the expression in its place. */
  readonly replacing: ReadonlyMap<string, string>;
  /** Whether a window came in batches of metrics, whose rows are to be joined. */
  readonly isBatched: boolean;
  /** The first day of a row's period. */
  readonly period: string;
  /** A view of every row, with WINDOW, ANSWER, PAGE and REJECTED. */
  readonly answers: string;
  /** A view of the joined rows, with WINDOW and REJECTED. */
  readonly typed: string;
  /** A table of the rows and sums of `answers` by WINDOW, ANSWER, period and REJECTED. */
  readonly totals: string;
}

export function stagedOf(
  windows: readonly [Readable, ...Readable[]],
  slice: Slice,
  columns: Columns,
  batchNo: number,
): Staged {
  return {
    slice,
    columns,
    windows,
    pages: windows.flatMap(pagesOf),
    replacing: new Map([...withheldValues(windows, slice, columns), ...cutWeeks(windows, slice)]),
    isBatched: windows.some(isBatched),
    // Without a date dimension, a batch has one window.
    period: periodOf(slice.grain, windows[0].spooled.window.replaced.start),
    answers: `"ripen answers ${batchNo}"`,
    typed: `"ripen typed ${batchNo}"`,
    totals: `"ripen totals ${batchNo}"`,
  };
}

export const stageRows = (staged: Staged): string =>
  `create or replace temp view ${staged.answers} as
${answeredRows(staged)};
create or replace temp view ${staged.typed} as
${staged.isBatched ? joinedRows(staged.columns, staged.answers) : `select * from ${staged.answers}`}`;

export function typedRows(staged: Staged): string {
  const rows = answeredRows(staged);
  return staged.isBatched ? joinedRows(staged.columns, `(\n${rows}\n)`) : rows;
}

/**
 * Scans files together: a union of scans takes twice as long to insert. But a scan reads all its files in the types of the
 * first, and rounds what does not fit.
 */
function answeredRows({ columns, pages, replacing }: Staged) {
  if (pages.length === 0) {
    const none = tableColumns({ dimensions: columns.dimensions, metrics: columns.metrics })
      .filter(({ name }) => name !== '_load_id')
      .map(({ name, type }) => `null::${type} as ${identifier(name)}`);
    return `select 0 as ${WINDOW}, 0 as ${ANSWER}, 0 as ${PAGE}, ${none.join(', ')}, null::VARCHAR as ${REJECTED} limit 0`;
  }
  const typesOf = ({ types }: StagedPage) =>
    [...types].map(([id, type]) => `${id} ${formatColumnType(type)}`).join();
  const valueOf = (name: string) => replacing.get(name) ?? identifier(name);
  const scans = alike(pages, typesOf).map((ofTypes) => {
    const values = [
      ...columns.dimensions.map((name) =>
        replacing.has(name) ? `${valueOf(name)} as ${identifier(name)}` : identifier(name),
      ),
      ...columns.metrics.map(({ id, type }) => {
        const from = ofTypes[0].types.get(id);
        const to = formatColumnType(type);
        const value =
          from === undefined ? `null::${to}` : castExactly(valueOf(id), formatColumnType(from), to);
        return `${value} as ${identifier(id)}`;
      }),
      '"attr_dependency"',
      // A column without any value is not read.
      ofTypes.some(({ hasExtra }) => hasExtra)
        ? identifier(EXTRA)
        : `null::JSON as ${identifier(EXTRA)}`,
      ofTypes.some(({ hasRejected }) => hasRejected) ? REJECTED : `null::VARCHAR as ${REJECTED}`,
    ];
    const files = alike(ofTypes, ({ file }) => file);
    const bodies = files.map((ofFile) =>
      Array.from(
        { length: ofFile[0].bodies },
        (_, bodyNo) => ofFile.find((page) => page.bodyNo === bodyNo) ?? null,
      ),
    );
    const isShared = bodies.some(({ length }) => length > 1);
    // A list of lists takes a twentieth of a large load's processor time (measured).
    const place = `[file_index::bigint + 1]${isShared ? `[${identifier(BODY)} + 1]` : ''}`;
    const numbers = (numberOf: (page: StagedPage) => number) => {
      const lists = bodies.map((ofFile) =>
        ofFile.map((page) => (page === null ? 'null' : numberOf(page))).join(', '),
      );
      return `[${lists.map((list) => (isShared ? `[${list}]` : list)).join(', ')}]${place}::integer`;
    };
    const isPartly = bodies.flat().includes(null);
    return `select
    ${numbers(({ windowNo }) => windowNo)} as ${WINDOW},
    ${numbers(({ answerNo }) => answerNo)} as ${ANSWER},
    ${numbers(({ pageNo }) => pageNo)} as ${PAGE},
    ${values.join(',\n    ')}
from read_parquet([${files.map(([page]) => literal(page.file)).join(', ')}], hive_partitioning = false)${isPartly ? `\nwhere ${WINDOW} is not null` : ''}`;
  });
  return scans.join('\nunion all\n');
}

/** Copies with different values fail their window. No `attr_dependency` is the same as an empty one. */
export function joinedRows({ dimensions, metrics }: Columns, rows: string): string {
  const key = [WINDOW, ...dimensions.map(identifier)].join(', ');
  const columns = ['attr_dependency', ...metrics.map(({ id }) => id)].map(identifier);
  const values = columns.map((column) => `any_value(${column}) as ${column}`);
  const extra = identifier(EXTRA);
  return `select
    ${key},
    ${values.join(',\n    ')},
    list_reduce(list(${extra}) filter (where ${extra} is not null), lambda one, other: json_merge_patch(one, other)) as ${extra},
    string_agg(distinct ${REJECTED}, ',') as ${REJECTED}
from ${rows}
group by ${key}, coalesce("attr_dependency", '{}')`;
}

/**
 * NULL for zeros of cohorts that cannot be complete: any `cohort_maturity` but `immature` is taken to withhold values as zero
 * or null (observed: mature).
 */
function withheldValues(
  windows: readonly Readable[],
  slice: Slice,
  { metrics }: Columns,
): ReadonlyMap<string, string> {
  const replacing = new Map<string, string>();
  if ((slice.parameters['cohort_maturity'] ?? 'immature') === 'immature') return replacing;
  for (const { id, cohort } of metrics) {
    if (cohort === null) continue;
    const since = windows.map(({ spooled: { window }, fetchedAt, maturity }) => {
      const at = computedAt(fetchedAt, maturity.computedAt).getTime();
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

export const beginsInWeek = ({ slice, requested, replaced }: Window): boolean =>
  slice.grain === 'week' && requested.start > replaced.start;

/** Some services name a cut week by its first requested day. */
function cutWeeks(windows: readonly Readable[], slice: Slice): ReadonlyMap<string, string> {
  const { dimensions, grain, weekStartsOn } = slice;
  if (!dimensions.includes('week')) return new Map();
  const cases = windows.flatMap(({ windowNo, spooled: { window } }) => {
    const { requested } = window;
    const replaced = bucketOf(requested.start, 'week', weekStartsOn);
    if (requested.start === replaced.start) return [];
    // Beside days, a later week of the same name is not cut: it begins on another day than it must.
    const isOfWeek = insideDays(grain, replaced);
    return `when ${WINDOW} = ${windowNo} and ${grain === 'week' ? '' : `${isOfWeek} and `}${cutWeek('week', { requested, replaced })}`;
  });
  if (cases.length === 0) return new Map();
  return new Map([['week', `case ${cases.join(' ')} else week end`]]);
}

export const cutWeek = (
  period: string,
  { requested, replaced }: { readonly requested: DayInterval; readonly replaced: DayInterval },
): string => `${period} = DATE ${literal(requested.start)} then DATE ${literal(replaced.start)}`;
