/** The views of a slice in a lake, in SQL that all engines share. */

import { FINALITY, type LakeTable } from '../tables.ts';
import type { DescribedTable } from '../copy.ts';
import type { QueryWords } from './engine-text.ts';

export function sliceViews(table: LakeTable, words: QueryWords): DescribedTable[] {
  const { name, columns, metrics, cohorts, isCube } = table;
  if (metrics.length === 0) return [];
  const note = isCube ? 'Final rows only.' : 'Cells that are not final are NULL.';
  const comment = `${table.comment ?? ''} ${note}`.trim();
  const final = { name: `${name}_final`, comment, columns, rows: finalRows(table, words) };
  if (cohorts === null) return [final];
  const long = { ...cohorts, name: `${name}_cohorts`, rows: cohortRows(table, cohorts, words) };
  return [final, long];
}

const ofSlice = (name: string, { column, from, text }: QueryWords): string =>
  `from ${from(FINALITY)} where ${column('slice')} = ${text(name)}`;

/** The condition that a row `s` is in the period of a row `f` of finality. */
const samePeriod = (grain: string, { column }: QueryWords): string =>
  `f.${column('period')} = cast(s.${column(grain)} as date)`;

/** Returns the query of final values. A cube has a row for each metric, and a slice without a date is one period. */
function finalRows(
  { name, columns, metrics, grain, isCube }: LakeTable,
  words: QueryWords,
): string {
  const { column, from, text } = words;
  const cells = columns.map((each) => {
    const [cell, place] = [`s.${column(each.name)}`, isCube ? -1 : metrics.indexOf(each.name)];
    return `${place < 0 ? cell : `case when f.m${place} = 1 then ${cell} end`} as ${column(each.name)}`;
  });
  const isFinal = metrics.map(
    (metric, place) =>
      `max(case when ${column('metric')} = ${text(metric)} then 1 end) as m${place}`,
  );
  const period = grain === null ? [] : [column('period')];
  const shown = [...period, ...(isCube ? [column('metric')] : isFinal)];
  const groups = isCube ? [] : period.map((each) => `\n    group by ${each}`);
  const join = isCube ? 'join' : grain === null ? 'cross join' : 'left join';
  const conditions = [
    ...(isCube ? [`f.${column('metric')} = s.${column('metric')}`] : []),
    ...(grain === null ? [] : [samePeriod(grain, words)]),
  ];
  return `select
    ${cells.join(',\n    ')}
from ${from(name)} as s
${join} (
    select
        ${shown.join(',\n        ')}
    ${ofSlice(name, words)} and ${column('is_final')}${groups.join('')}
) as f${conditions.length === 0 ? '' : ` on ${conditions.join(' and ')}`}`;
}

/** Every engine takes a union of plain selects as a list. */
function cohortRows(
  { name, grain }: LakeTable,
  { columns, cells }: NonNullable<LakeTable['cohorts']>,
  words: QueryWords,
): string {
  const { column, from, text, type } = words;
  const value = columns.find((each) => each.name === 'value');
  const ids = cells.map(
    ({ metric, cohort_metric: cohort, age_days: days }) =>
      `select ${text(metric)} as id, ${text(cohort)} as metric, ${days} as age_days`,
  );
  const values = cells.map(({ metric }) => {
    const cell = `s.${column(metric)}`;
    return `when ${text(metric)} then ${value === undefined ? cell : `cast(${cell} as ${type(value.type)})`}`;
  });
  const computed: Readonly<Record<string, string>> = {
    metric: 'c.metric',
    age_days: 'c.age_days',
    value: `case c.id ${values.join(' ')} end`,
    is_final: `coalesce(f.${column('is_final')}, false)`,
  };
  const shown = columns.map(
    (each) => `${computed[each.name] ?? `s.${column(each.name)}`} as ${column(each.name)}`,
  );
  return `select
    ${columns.map(({ name: id }) => column(id)).join(',\n    ')}
from (
    select
        ${shown.join(',\n        ')}
    from ${from(name)} as s
    cross join (
        ${ids.join('\n        union all ')}
    ) as c
    left join (
        select ${[column('period'), column('metric'), column('is_final')].join(', ')}
        ${ofSlice(name, words)}
    ) as f on f.${column('metric')} = c.id${grain === null ? '' : ` and ${samePeriod(grain, words)}`}
) as cells
where ${column('value')} is not null`;
}
