/** What a lake shows of a slice beside its table, in words every engine shares: its final cells, and its cohorts in long form. Pure. */

import { FINALITY, type CohortsView, type LakeColumn, type LakeTable } from './lake-table.ts';

/** How an engine writes names, tables at the night that is read, texts and types. */
export interface Dialect {
  readonly column: (name: string) => string;
  readonly from: (table: string) => string;
  readonly text: (value: string) => string;
  readonly type: (column: LakeColumn) => string;
}

/** A view with its comments: a query over tables of the lake. */
export interface LakeView extends Pick<LakeTable, 'name' | 'comment' | 'columns'> {
  readonly rows: string;
}

/** The views beside the table of a slice; none beside any other table. */
export function sliceViews(table: LakeTable, dialect: Dialect): LakeView[] {
  const { name, columns, metrics, cohorts } = table;
  if (metrics.length === 0) return [];
  const words = table.isCube ? 'Final rows alone.' : 'Cells that are not final are NULL.';
  const rows = table.isCube ? finalRows(table, dialect) : finalCells(table, dialect);
  const final = { name: `${name}_final`, comment: `${table.comment ?? ''} ${words}`.trim(), columns, rows };
  if (cohorts === null) return [final];
  return [final, { ...cohorts, name: `${name}_cohorts`, rows: cohortRows(table, cohorts, dialect) }];
}

const listed = (lines: readonly string[]): string => lines.join(',\n    ');
const deeper = (lines: readonly string[]): string => lines.join(',\n        ');

/** The condition that a row lies in the period of a row of finality, called `f`; empty for a slice that is one period. */
function samePeriod(grain: LakeTable['grain'], column: Dialect['column']): string {
  return grain === null ? '' : `f.${column('period')} = cast(s.${column(grain)} as date)`;
}

/** A slice joined once with what the lake says of its final cells. */
function finalCells({ name, columns, metrics, grain }: LakeTable, { column, from, text }: Dialect): string {
  const cells = columns.map((each) => {
    const [cell, place] = [`s.${column(each.name)}`, metrics.indexOf(each.name)];
    return `${place < 0 ? cell : `case when f.m${place} = 1 then ${cell} end`} as ${column(each.name)}`;
  });
  const isFinal = metrics.map(
    (metric, place) => `max(case when ${column('metric')} = ${text(metric)} then 1 end) as m${place}`,
  );
  const period = column('period');
  return `select
    ${listed(cells)}
from ${from(name)} as s
${grain === null ? 'cross' : 'left'} join (
    select
        ${deeper([...(grain === null ? [] : [period]), ...isFinal])}
    from ${from(FINALITY)}
    where ${column('slice')} = ${text(name)} and ${column('is_final')}${grain === null ? '' : `\n    group by ${period}`}
) as f${grain === null ? '' : ` on ${samePeriod(grain, column)}`}`;
}

/** The final rows of a cube. */
function finalRows({ name, columns, grain }: LakeTable, { column, from, text }: Dialect): string {
  const [metric, period] = [column('metric'), column('period')];
  return `select
    ${listed(columns.map((each) => `s.${column(each.name)} as ${column(each.name)}`))}
from ${from(name)} as s
join (
    select ${period}, ${metric}
    from ${from(FINALITY)}
    where ${column('slice')} = ${text(name)} and ${column('is_final')}
) as f on f.${metric} = s.${metric} and ${samePeriod(grain ?? 'day', column)}`;
}

/** One row for each row of a slice, metric and age that has a value. A list of plain selects is what every engine takes for one. */
function cohortRows({ name, grain }: LakeTable, { columns, cells }: CohortsView, dialect: Dialect): string {
  const { column, from, text, type } = dialect;
  const own = ['metric', 'age_days', 'value', 'is_final'];
  const dimensions = columns.filter((each) => !own.includes(each.name)).map((each) => column(each.name));
  const typeOfValue = columns.find((each) => each.name === 'value');
  const places = cells.map(
    ({ column: id, metric, ageDays }, place) =>
      `select ${place} as place, ${text(id)} as id, ${text(metric)} as metric, ${ageDays} as age_days`,
  );
  const values = cells.map(({ column: id }, place) => {
    const cell = `s.${column(id)}`;
    return `when ${place} then ${typeOfValue === undefined ? cell : `cast(${cell} as ${type(typeOfValue)})`}`;
  });
  const shown = [
    ...dimensions.map((each) => `s.${each} as ${each}`),
    `c.metric as ${column('metric')}`,
    `c.age_days as ${column('age_days')}`,
    `case c.place ${values.join(' ')} end as ${column('value')}`,
    `coalesce(f.${column('is_final')}, false) as ${column('is_final')}`,
  ];
  const finality = [column('period'), column('metric'), column('is_final')].join(', ');
  return `select
    ${listed([...dimensions, ...own.map(column)])}
from (
    select
        ${deeper(shown)}
    from ${from(name)} as s
    cross join (
        ${places.join('\n        union all ')}
    ) as c
    left join (
        select ${finality} from ${from(FINALITY)} where ${column('slice')} = ${text(name)}
    ) as f on f.${column('metric')} = c.id${grain === null ? '' : ` and ${samePeriod(grain, column)}`}
) as cells
where ${column('value')} is not null`;
}
