/**
 * Statements that turn rows of texts into a slice's types, exactly or not at all. Pure: names and types in, SQL out.
 *
 * A cast alone rounds in silence (`'1.5'::BIGINT` is 2), so a text is cast only when a full-match form says the cast is
 * exact; other texts are odd. `staged` gives rows as text, `typed` gets them in their types, with ODD where a text was not
 * cast; `plainTexts` and `notNumbers` say what became of texts in an unusual form.
 */

import { capacityOf, type ColumnType, FAST_DIGITS, formatColumnType } from '../model/column-type.ts';
import { type DateDimension, dateDimensions, isDateDimension } from '../model/dimension.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import { becameDouble, type Columns, type MetricColumn } from './target.ts';
import { ODD, PART, staging, WINDOW } from './window-sql.ts';

const list = (parts: readonly string[]): string => parts.join(',\n    ');

/** Digits before and after the point of the texts that cast exactly and fast to a type. */
function fastDigits(type: ColumnType): { readonly whole: number; readonly fraction: number } {
  const { whole, fraction } = capacityOf(type);
  return { whole: Math.min(FAST_DIGITS, whole), fraction: Math.min(FAST_DIGITS, fraction) };
}

/** A number of so many characters has no more digits than every double keeps. */
const SHORT_LENGTH = 15;

/** The form of the texts that cast exactly and fast to a type; to the nearest double. */
function fastForm(type: ColumnType): string {
  if (type.kind === 'DOUBLE') return String.raw`[-+]?[0-9]{1,200}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?`;
  const { whole, fraction } = fastDigits(type);
  return (whole === 0 ? '-?0' : String.raw`-?[0-9]{1,${whole}}`) + String.raw`(\.[0-9]{0,${fraction}}0*)?`;
}

/** Digits and a point, few enough of each for a column of some type to hold them all. */
const PLAIN_NUMBER = String.raw`-?[0-9]{1,${FAST_DIGITS}}(\.[0-9]{0,${FAST_DIGITS}}0*)?`;

/** A text of the fast form in its type. */
function fastCast(column: string, type: ColumnType): string {
  if (type.kind !== 'DECIMAL' || type.width <= FAST_DIGITS) return `cast(${column} as ${formatColumnType(type)})`;
  const sqlType = formatColumnType(type);
  const { fraction } = fastDigits(type);
  const whole = `cast(split_part(${column}, '.', 1) as DECIMAL(${FAST_DIGITS},0))::${sqlType}`;
  if (fraction === 0) return whole;
  // Text to a decimal of more than 18 digits is two hundred times slower than to two narrow ones.
  const tail = `concat(if(starts_with(${column}, '-'), '-0.', '0.'), split_part(${column}, '.', 2))`;
  return `cast(${whole} + cast(${tail} as DECIMAL(${FAST_DIGITS},${fraction}))::${sqlType} as ${sqlType})`;
}

/** Whether a text is cast fast. To a double that is to be exact: where it is short, or what the double itself is shown as. */
function isFast(column: string, metric: MetricColumn): string {
  const isOfForm = `regexp_full_match(${column}, ${literal(fastForm(metric.type))})`;
  if (!becameDouble(metric)) return isOfForm;
  const shown = `cast(try_cast(${column} as DOUBLE) as VARCHAR)`;
  return `(${isOfForm} and (length(${column}) <= ${SHORT_LENGTH} or ${column} = ${shown}))`;
}

/** Whether a text says something that the fast cast does not take. */
function isOdd(column: string, metric: MetricColumn): string {
  return `not ${isFast(column, metric)} and trim(${column}) <> ''`;
}

/** Whether `typed` holds a text that was not cast. */
export const anyOdd = `select count(*) as rows from ${staging.typed} where ${ODD}`;

/**
 * One row: for each exact metric, by its position, the most digits before (`w0`) and after (`f0`) the point among its odd
 * texts that are plain numbers; NULL where there are none. NULL for the whole when no metric is exact.
 */
export function oddDigits(columns: Columns): string | null {
  const most = columns.metrics.flatMap((metric, at) => {
    if (metric.type.kind === 'DOUBLE') return [];
    const column = identifier(metric.id);
    const odd = `${isOdd(column, metric)} and regexp_full_match(${column}, ${literal(PLAIN_NUMBER)})`;
    return [
      `max(length(ltrim(split_part(${column}, '.', 1), '-0'))) filter (where ${odd}) as w${at}`,
      `max(length(rtrim(split_part(${column}, '.', 2), '0'))) filter (where ${odd}) as f${at}`,
    ];
  });
  return most.length === 0 ? null : `select\n    ${list(most)}\nfrom ${staging.staged}`;
}

/** Per metric the distinct texts that the fast cast does not take: most are numbers in an unusual form. */
export function oddTexts(columns: Columns): string {
  const conditions = columns.metrics.map((metric) => isOdd(identifier(metric.id), metric));
  const parts = columns.metrics.map(
    (metric) => `select
    ${literal(metric.id)} as metric,
    ${identifier(metric.id)} as text
from odd
where ${isOdd(identifier(metric.id), metric)}
group by all`,
  );
  return `with odd as materialized (
    select ${columns.metrics.map(({ id }) => identifier(id)).join(', ')}
    from ${staging.staged}
    where (${conditions.join(')\n        or (')})
)
${parts.join('\nunion all\n')}`;
}

/**
 * How many plain numbers of a metric, in `staged` and in a table, the nearest double is neither shown as nor is in as many digits;
 * none of up to 15 digits. What is longer than a plain number is not looked at.
 */
export function countNoDoubles({ id, type }: MetricColumn, table: string): string {
  const column = identifier(id);
  const held = formatColumnType(type.kind === 'BIGINT' ? { kind: 'DECIMAL', width: 19, scale: 0 } : type);
  const plain = `DECIMAL(${2 * FAST_DIGITS},${FAST_DIGITS})`;
  // Of sixteen digits or seventeen: no more tell doubles apart.
  const isOther = (text: string, exact: string): string => {
    const double = `cast(${text} as DOUBLE)`;
    const said = [`cast(${double} as VARCHAR)`, `format('{:.15e}', ${double})`, `format('{:.16e}', ${double})`];
    const exactly = said.map((each) => `try_cast(${each} as ${exact})`).join(', ');
    return `not coalesce(cast(${text} as ${exact}) in (${exactly}), false)`;
  };
  return `select count(*) as numbers
from (
    select ${column} as text
    from ${staging.staged}
    where case when length(${column}) > 15 and regexp_full_match(${column}, ${literal(PLAIN_NUMBER)}) then ${isOther(column, plain)} end
    union all
    select cast(${column} as VARCHAR)
    from ${table}
    where case when length(cast(${column} as VARCHAR)) > 15 then ${isOther(`cast(${column} as VARCHAR)`, held)} end
)`;
}

/** Labels of the date dimensions and how they become dates; an unknown form becomes NULL, which `badLabels` finds. */
const dateCasts: Record<DateDimension, { readonly form: string; readonly cast: (column: string) => string }> = {
  hour: {
    form: String.raw`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}`,
    cast: (column) => `try_cast(${column} as TIMESTAMP)`,
  },
  day: { form: String.raw`[0-9]{4}-[0-9]{2}-[0-9]{2}`, cast: (column) => `try_cast(${column} as DATE)` },
  week: {
    form: String.raw`[0-9]{4}-[0-9]{2}-[0-9]{2} - [0-9]{4}-[0-9]{2}-[0-9]{2}`,
    cast: (column) => `try_cast(left(${column}, 10) as DATE)`,
  },
  month: { form: String.raw`[0-9]{4}-[0-9]{2}`, cast: (column) => `try_cast(${column} || '-01' as DATE)` },
  quarter: {
    form: String.raw`Q[1-4] [0-9]{4}`,
    cast: (column) =>
      `make_date(try_cast(right(${column}, 4) as INTEGER), try_cast(${column}[2] as INTEGER) * 3 - 2, 1)`,
  },
  year: { form: String.raw`[0-9]{4}`, cast: (column) => `try_cast(${column} || '-01-01' as DATE)` },
};

function castDimension(name: string): string {
  const column = `s.${identifier(name)}`;
  if (!isDateDimension(name)) return column;
  const { form, cast } = dateCasts[name];
  return `case when regexp_full_match(${column}, ${literal(form)}) then ${cast(column)} end`;
}

/** A text as it came, in a column whose name no metric can have: theirs hold no comma. */
const rawColumn = (at: number): string => identifier(`text,${at}`);

/** A metric's text in the column's type; one that is not cast becomes NULL, which `_odd` tells from a blank one. */
function castMetric(metric: MetricColumn, at: number, isUnusual: boolean): string {
  const { id, type } = metric;
  const column = `s.${identifier(id)}`;
  const otherwise = isUnusual ? `\n            else cast(p${at}.plain as ${formatColumnType(type)})` : '';
  return `case
            when ${isFast(column, metric)} then ${fastCast(column, type)}${otherwise}
        end as ${identifier(id)}`;
}

/**
 * Fills `typed` from `staged`: the slice's columns in their types. Rows that hold a text of `notNumbers` are left out, or
 * alone fill `rejected`, that text NULL. `unusual` names the metrics with entries in `plainTexts`.
 */
export function typeRows(
  columns: Columns,
  unusual: ReadonlySet<string>,
  rejecting: ReadonlySet<string>,
  into: 'typed' | 'rejected' = 'typed',
): string {
  const { metrics } = columns;
  const names = [...columns.dimensions, ...metrics.map(({ id }) => id), 'attr_dependency', '_extra'].map(identifier);
  const cast = [
    ...columns.dimensions.map((name) => `${castDimension(name)} as ${identifier(name)}`),
    ...metrics.map((metric, at) => castMetric(metric, at, unusual.has(metric.id))),
    ...metrics.map(({ id }, at) => `s.${identifier(id)} as ${rawColumn(at)}`),
  ];
  const odd = metrics.map(
    ({ id }, at) => `(${identifier(id)} is null and ${rawColumn(at)} is not null and trim(${rawColumn(at)}) <> '')`,
  );
  const joins = metrics.flatMap(({ id }, at) =>
    unusual.has(id)
      ? [
          `\n    left join ${staging.plainTexts} as p${at} on p${at}.metric = ${literal(id)} and p${at}.text = s.${identifier(id)}`,
        ]
      : [],
  );
  const isRejected = [...rejecting].map(
    (id) =>
      `coalesce(s.${identifier(id)} in (select text from ${staging.notNumbers} where metric = ${literal(id)}), false)`,
  );
  const wanted = into === 'typed' ? isRejected.map((each) => `not ${each}`).join(' and ') : isRejected.join(' or ');
  return `create or replace temp table ${staging[into]} as
select
    ${WINDOW},
    ${PART},
    ${list(names)},
    ${odd.join('\n        or ')} as ${ODD}
from (
    select
        s.${WINDOW},
        s.${PART},
        ${cast.join(',\n        ')},
        s.attr_dependency,
        s."_extra"
    from ${staging.staged} as s${joins.join('')}
    where ${wanted === '' ? 'true' : wanted}
)`;
}

/** The rows that hold a text that is not a number, with the metric, the day they belong to and the reason. */
export function rejectedRows(columns: Columns, rejecting: ReadonlySet<string>): string {
  const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id), 'attr_dependency'];
  const finest = dateDimensions.find((name) => columns.dimensions.includes(name));
  const day = finest === undefined ? 'null' : `cast(${castDimension(finest)} as DATE)::varchar`;
  const row = `json_object(${requested.map((name) => `${literal(name)}, s.${identifier(name)}`).join(', ')})`;
  const parts = [...rejecting].map(
    (id) => `select
    s.${WINDOW} as window_no,
    ${literal(id)} as metric,
    ${day} as day,
    concat(${literal(`${id}: `)}, n.reason, ': ', s.${identifier(id)}) as reason,
    ${row} as "row"
from ${staging.staged} as s
join ${staging.notNumbers} as n on n.metric = ${literal(id)} and n.text = s.${identifier(id)}`,
  );
  return parts.join('\nunion all\n');
}

/** How many rows of `typed` have a date label that is no date; null for a slice without dates. */
export function countUndated(columns: Columns): string | null {
  const dates = columns.dimensions.filter(isDateDimension);
  if (dates.length === 0) return null;
  return `select count(*) as rows from ${staging.typed} where ${dates.map((name) => `${identifier(name)} is null`).join(' or ')}`;
}

/** Date labels that are not of the documented ISO form, or name a day that does not exist: one example per dimension and window. */
export function badLabels(columns: Columns): string {
  const parts = columns.dimensions.filter(isDateDimension).map(
    (name) => `select
    s.${WINDOW} as window_no,
    ${literal(name)} as dimension,
    coalesce(any_value(s.${identifier(name)}), 'null') as label
from ${staging.staged} as s
where ${castDimension(name)} is null
group by s.${WINDOW}`,
  );
  return parts.join('\nunion all\n');
}
