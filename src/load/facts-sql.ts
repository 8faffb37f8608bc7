/** SQL on the staged rows of a batch. Pure. */

import { FAST_DIGITS } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import { BODY } from '../extract/columns/reading.ts';
import { additiveOf, type Columns, periodOf } from '../warehouse/tables/target.ts';
import { exactSum, identifier, literal, sumText } from '../warehouse/sql.ts';
import type { Readable, ReadableAnswer } from './answered.ts';
import {
  ANSWER,
  beginsInWeek,
  cutWeek,
  joinedRows,
  PAGE,
  REJECTED,
  type Staged,
  WINDOW,
} from './staged-sql.ts';

/** In a cube the values other than zero: other metrics bring rows of zeros with them. */
const valuesIn = ({ metrics, value }: Columns) =>
  value === undefined
    ? 'count(*)'
    : `sum(${metrics.map(({ id }) => `coalesce((${identifier(id)} <> 0)::integer, 0)`).join(' + ')})`;

/** Fills `totals` in one pass over `answers`. */
export function totalAnswers({ columns, period, answers, totals }: Staged): string {
  const sums = additiveOf(columns).map(({ id, type }, at) => {
    const name = identifier(id);
    // Of wider decimals this sum overflows before that of the values, as does the magnitude of the least integer.
    const isNarrow = type.kind === 'DECIMAL' && type.whole + type.fraction <= FAST_DIGITS;
    const magnitudes = isNarrow ? `sum(abs(${name}))::double` : `sum(abs(${name}::double))`;
    return `,
    ${exactSum(name, type)} as s${at}, ${magnitudes} as g${at}, coalesce(count_if(${name} <> 0), 0) as z${at}`;
  });
  return `create or replace temp table ${totals} as
select
    ${WINDOW},
    ${ANSWER},
    ${period} as p,
    ${REJECTED} is not null as r,
    count(*) as n,
    ${valuesIn(columns)} as v${sums.join('')}
from ${answers}
group by all`;
}

/**
 * Queries rows, values and the additive metrics' sums, magnitudes and non-zero counts of each answer and period. Control
 * answers follow those of their window.
 */
export function countAnswers(staged: Staged, batchNo: number): string {
  const metrics = additiveOf(staged.columns);
  const query = (
    numbers: readonly [string | number, string | number],
    counts: readonly [rows: string, values: string],
    listOf: (kind: 's' | 'g' | 'z') => string[],
    from: string,
  ): string => `select
    ${batchNo} as batch_no,
    ${numbers[0]} as window_no,
    ${numbers[1]} as answer_no,
    p::varchar as start_day,
    coalesce(${counts[0]}, 0)::varchar as rows,
    coalesce(${counts[1]}, 0)::varchar as values,
    [${listOf('s').join(', ')}]::varchar[] as sums,
    [${listOf('g').join(', ')}]::double[] as magnitudes,
    [${listOf('z').join(', ')}]::varchar[] as non_zero
from ${from}`;
  const rows = query(
    [WINDOW, ANSWER],
    ['sum(n) filter (not r)', 'sum(v) filter (not r)'],
    (kind) =>
      metrics.map(({ type }, at) => {
        const sum = `sum(${kind}${at})`;
        return kind === 's' ? sumText(sum, type) : sum;
      }),
    `${staged.totals}\ngroup by grouping sets ((${WINDOW}, ${ANSWER}), (${WINDOW}, ${ANSWER}, p))`,
  );
  const controls = staged.windows.flatMap((window) =>
    window.controls.flatMap((control, at) => {
      if (control.pages.length === 0 || control.failure !== null) return [];
      const forms = {
        s: (name: string) => `sum(${name})::varchar`,
        g: (name: string) => `sum(abs(${name}::double))`,
        z: (name: string) => `coalesce(count_if(${name} <> 0), 0)`,
      };
      return query(
        [window.windowNo, window.answers.length + at],
        ['count(*)', 'count(*)'],
        (kind) =>
          metrics.map(({ id }) =>
            control.box.metrics.includes(id) ? forms[kind](identifier(id)) : 'null',
          ),
        `(\n${controlRows(window, control)}\n)\ngroup by grouping sets ((), (p))`,
      );
    }),
  );
  return [rows, ...controls].join('\nunion all\n');
}

export function sumDistinctPeriods(
  { columns, period, answers }: Staged,
  windowNos: readonly number[],
): string {
  const metrics = additiveOf(columns).map(({ id, type }) => ({ name: identifier(id), type }));
  // Without unrequested keys: if rows of one key differ in them, the window fails anyway.
  const names = [
    ...columns.dimensions.map(identifier),
    'attr_dependency',
    ...metrics.map(({ name }) => name),
  ];
  return `select
    ${WINDOW} as window_no,
    ${ANSWER} as answer_no,
    (${period})::varchar as start_day,
    [${metrics.map(({ name, type }) => sumText(exactSum(name, type), type)).join(', ')}]::varchar[] as sums
from (
    select distinct ${[WINDOW, ANSWER, ...names].join(', ')}
    from ${answers}
    where ${WINDOW} in (${windowNos.join(', ')})
)
group by all`;
}

/** Counts rows and values of joined batches without copies, by window and period, and sums the shared metric. */
export const countJoined = (
  { columns, period, answers }: Staged,
  windowNos: readonly number[],
  shared: Metric | undefined,
): string => `select
    ${WINDOW} as window_no,
    (${period})::varchar as start_day,
    count(*) as rows,
    ${valuesIn(columns)} as values,
    [${shared === undefined ? '' : sumText(exactSum(identifier(shared.id), shared.type), shared.type)}]::varchar[] as sums
from (
${joinedRows(columns, `(select * from ${answers} where ${WINDOW} in (${windowNos.join(', ')}))`)}
)
where ${REJECTED} is null
group by all`;

export const otherWeeks = ({ slice, answers }: Staged): string => `select
    ${WINDOW} as window_no,
    min(week)::varchar as week
from ${answers}
where dayofweek(week) <> ${slice.weekStartsOn}
group by all`;

export function rejectedRows({ slice, typed }: Staged, windowNos: readonly number[]): string {
  const day = slice.grain === null ? 'null' : `cast(${identifier(slice.grain)} as DATE)::varchar`;
  return `select ${WINDOW} as window_no, ${day} as day, '[' || ${REJECTED} || ']' as rejected
from ${typed}
where ${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is not null`;
}

export function duplicateKeys(
  { columns, windows, period, answers }: Staged,
  windowNos: readonly number[],
): string {
  // Values that were not requested may be what distinguishes the rows.
  const names = [...columns.dimensions, 'attr_dependency'];
  const structOf = (of: readonly string[]) =>
    `{${of.map((n) => `${literal(n)}: ${identifier(n)}`).join(', ')}}`;
  // As text: the engine writes a decimal below one as JSON that it cannot read.
  const shown = `concat(left(to_json(row_values)::varchar, -1), ',"_extra":' || row_extra, '}')`;
  const batchNos = windows.map(
    (window) => `[${window.answers.map(({ box }) => box.batchNo).join(', ')}]`,
  );
  const batch = `[${batchNos.join(', ')}][${WINDOW} + 1][${ANSWER} + 1]`;
  // Only for repeated keys: lists of the values of every key would not fit into memory.
  const digest = `hash(${WINDOW}, ${batch}, ${names.map(identifier).join(', ')})`;
  const inWindows = `${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is null`;
  return `with twice as materialized (
    select ${digest} as digest from ${answers} where ${inWindows} group by 1 having count(*) > 1
)
select
    window_no,
    batch_no,
    start_day,
    count(*) as copies,
    count(distinct page) > 1 as is_spread,
    count(distinct {v: row_values, e: row_extra}) as versions,
    to_json(row_key)::varchar as key,
    concat('[', array_to_string(list_distinct(list(${shown})), ','), ']') as found
from (
    select
        ${WINDOW} as window_no,
        ${batch} as batch_no,
        ${PAGE} as page,
        (${period})::varchar as start_day,
        ${structOf(names)} as row_key,
        ${structOf(columns.metrics.map(({ id }) => id))} as row_values,
        "_extra"::varchar as row_extra
    from ${answers}
    where ${inWindows} and ${digest} in (select digest from twice)
)
group by window_no, batch_no, start_day, row_key
having count(*) > 1`;
}

/** With the first day of the period as `p`. */
function controlRows(
  { spooled: { window } }: Pick<Readable, 'spooled'>,
  { pages }: ReadableAnswer,
) {
  const period = periodOf(window.slice.grain, window.replaced.start);
  const start = beginsInWeek(window)
    ? `case when ${cutWeek(period, window)} else ${period} end`
    : period;
  return pages
    .map(({ file, bodyNo }) => {
      return `select *, ${start} as p from read_parquet(${literal(file)}, hive_partitioning = false) where ${identifier(BODY)} = ${bodyNo}`;
    })
    .join('\nunion all by name\n');
}

/** Queries values of the second dimension that the whole has in a period, and its parts have not. */
export function lostValues(
  { columns, period, typed }: Staged,
  window: Pick<Readable, 'spooled' | 'windowNo'>,
  answer: ReadableAnswer,
): string {
  const { control, part, metrics } = answer.box;
  const value = identifier(control?.[1] ?? '');
  const names = columns.metrics.filter(({ id }) => metrics.includes(id));
  const lists = Object.entries(part).map(
    ([dimension, { in: list }]) =>
      ` and ${identifier(dimension)} in (${(list ?? []).map(literal).join(', ')})`,
  );
  return `select distinct p::varchar as start_day, ${value} as value
from (
${controlRows(window, answer)}
)
where ${names.map(({ id }) => `${identifier(id)} <> 0`).join(' or ')}
except
select (${period})::varchar, ${value}
from ${typed}
where ${WINDOW} = ${window.windowNo}${lists.join('')}
limit 100`;
}
