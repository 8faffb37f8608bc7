/**
 * Statements that turn text into a slice's types, exactly or not at all. Pure: names and types in, SQL out.
 *
 * A cast alone rounds in silence (`'1.5'::BIGINT` is 2), so a text is cast only when a full-match form says the cast is
 * exact. `staged` holds rows as text, `typed` gets them in their types; `plain_texts` and `not_numbers` say what became
 * of texts in an unusual form.
 */

import { capacityOf, FAST_DIGITS, formatColumnType, type ColumnType } from '../model/column-type.ts';
import { dateDimensions, isDateDimension, type DateDimension } from '../model/dimension.ts';
import { identifier, literal } from '../warehouse/quoting.ts';
import type { Columns, MetricColumn } from './slice-columns.ts';

const list = (parts: readonly string[]): string => parts.join(',\n    ');

const blank = (column: string): string => `${column} is null or trim(${column}) = ''`;

/** Text that casts exactly and fast: digits within what 18 digits hold of the type. */
function fastForm(type: ColumnType): string {
  if (type.kind === 'DOUBLE') return String.raw`[-+]?[0-9]{1,200}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?`;
  const scale = fastScale(type);
  const whole = Math.min(FAST_DIGITS - scale, capacityOf(type).whole);
  return (
    (whole === 0 ? '-?0' : String.raw`-?[0-9]{1,${whole}}`) +
    (scale === 0 ? String.raw`(\.0*)?` : String.raw`(\.[0-9]{0,${scale}}0*)?`)
  );
}

/** Fraction digits of the fast path; the value is cast to the column's own type afterwards, which is free. */
function fastScale(type: ColumnType): number {
  return type.kind === 'DECIMAL' ? Math.min(type.scale, 6) : 0;
}

/** Per metric the distinct texts that the fast cast does not take: most are numbers in an unusual form. */
export function oddTexts(columns: Columns): string {
  const parts = columns.metrics.map(
    ({ id, type }) => `select
    ${literal(id)} as metric,
    ${identifier(id)} as text
from staged
where not (${blank(identifier(id))}) and not regexp_full_match(${identifier(id)}, ${literal(fastForm(type))})
group by all`,
  );
  return parts.join('\nunion all\n');
}

/** A metric's text in the column's type; texts found odd are looked up in `plain_texts`. */
function castMetric(metric: MetricColumn, odd: ReadonlySet<string>): string {
  const column = `s.${identifier(metric.id)}`;
  const type = formatColumnType(metric.type);
  const fastType = metric.type.kind === 'DECIMAL' ? `DECIMAL(${FAST_DIGITS},${fastScale(metric.type)})` : type;
  const text = metric.type.kind === 'BIGINT' ? `split_part(${column}, '.', 1)` : column;
  const fast = `cast(${text} as ${fastType})::${type}`;
  if (!odd.has(metric.id)) return `case when ${blank(column)} then null else ${fast} end`;
  // Only the few odd values take the wide cast, which is two hundred times slower than the narrow one; among them, when
  // the column has just been widened, long ones that the narrower type took as they were.
  return `case
        when ${blank(column)} then null
        when regexp_full_match(${column}, ${literal(fastForm(metric.type))}) then ${fast}
        else cast(coalesce(map_extract_value(o.${identifier(metric.id)}, ${column}), ${column}) as ${type})
    end`;
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

/**
 * Fills `typed` from `staged`: the slice's columns in their types, beside `window_no`. Rows that hold a text of
 * `not_numbers` are left out. `odd` names the metrics with entries in `plain_texts`.
 */
export function typeRows(columns: Columns, odd: ReadonlySet<string>, rejecting: ReadonlySet<string>): string {
  const dimensions = columns.dimensions.map((name) => `${castDimension(name)} as ${identifier(name)}`);
  const metrics = columns.metrics.map((metric) => `${castMetric(metric, odd)} as ${identifier(metric.id)}`);
  const lookups = [...odd].map(
    (id) =>
      `(select map_from_entries(list({'key': text, 'value': plain})) from plain_texts where metric = ${literal(id)}) as ${identifier(id)}`,
  );
  const reject = [...rejecting].map(
    (id) =>
      `and (s.${identifier(id)} is null or s.${identifier(id)} not in (select text from not_numbers where metric = ${literal(id)}))`,
  );
  return `create or replace temp table typed as
select
    s.window_no,
    ${list([...dimensions, ...metrics])},
    s.attr_dependency,
    s."_extra"
from staged as s${lookups.length === 0 ? '' : `\ncross join (select ${lookups.join(', ')}) as o`}
where true ${reject.join(' ')}`;
}

/** The rows that hold a text that is not a number, with the day they belong to and the reason. */
export function rejectedRows(columns: Columns, rejecting: ReadonlySet<string>): string {
  const requested = [...columns.dimensions, ...columns.metrics.map(({ id }) => id), 'attr_dependency'];
  const finest = dateDimensions.find((name) => columns.dimensions.includes(name));
  const day = finest === undefined ? 'null' : `cast(${castDimension(finest)} as DATE)::varchar`;
  const row = `json_object(${requested.map((name) => `${literal(name)}, s.${identifier(name)}`).join(', ')})`;
  const parts = [...rejecting].map(
    (id) => `select
    s.window_no,
    ${day} as day,
    concat(${literal(`${id}: `)}, n.reason, ': ', s.${identifier(id)}) as reason,
    ${row} as "row"
from staged as s
join not_numbers as n on n.metric = ${literal(id)} and n.text = s.${identifier(id)}`,
  );
  return parts.join('\nunion all\n');
}

/** Date labels that are not of the documented ISO form, or name a day that does not exist: one example per dimension and window. */
export function badLabels(columns: Columns): string {
  const parts = columns.dimensions.filter(isDateDimension).map(
    (name) => `select
    s.window_no,
    ${literal(name)} as dimension,
    coalesce(any_value(s.${identifier(name)}), 'null') as label
from staged as s
where ${castDimension(name)} is null
group by s.window_no`,
  );
  return parts.join('\nunion all\n');
}

/** Keys that occur more than once in a window: how often, and in how many different versions. */
export function duplicateKeys(columns: Columns): string {
  const names = [...columns.dimensions, 'attr_dependency'];
  const key = names.map((name) => `${literal(name)}: ${identifier(name)}`).join(', ');
  const values = columns.metrics.map(({ id }) => `${literal(id)}: ${identifier(id)}`).join(', ');
  // Lists of values are built for repeated keys alone; for every key they would not fit the memory.
  const digest = `hash(window_no, ${names.map(identifier).join(', ')})`;
  return `with twice as materialized (
    select ${digest} as digest from typed group by 1 having count(*) > 1
)
select
    window_no,
    count(*) as copies,
    count(distinct {${values}}) as versions,
    to_json({${key}})::varchar as key,
    to_json(list_distinct(list({${values}})))::varchar as found
from typed
where ${digest} in (select digest from twice)
group by window_no, ${names.map(identifier).join(', ')}
having count(*) > 1`;
}
