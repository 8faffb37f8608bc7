/** A slice's rows with every cell that is not final NULL, in the words every engine shares. Pure. */

import { FINALITY, type LakeTable } from './lake-table.ts';

/** How an engine writes names and texts. */
export interface Quoting {
  readonly column: (name: string) => string;
  /** With whatever stands before it: schema, catalog. */
  readonly table: (name: string) => string;
  readonly text: (value: string) => string;
}

/** A query of a slice joined with what the lake says of its final cells. */
export function finalRows({ name, columns, metrics, grain }: LakeTable, { column, table, text }: Quoting): string {
  const cells = columns.map((each) => {
    const cell = `s.${column(each.name)}`;
    const place = metrics.indexOf(each.name);
    return place < 0 ? cell : `case when f.m${place} = 1 then ${cell} end as ${column(each.name)}`;
  });
  const isFinal = metrics.map(
    (metric, place) => `max(case when ${column('metric')} = ${text(metric)} then 1 end) as m${place}`,
  );
  const ofSlice = `from ${table(FINALITY)}
    where ${column('slice')} = ${text(name)} and ${column('is_final')}`;
  const finality =
    grain === null
      ? `cross join (
    select
        ${isFinal.join(',\n        ')}
    ${ofSlice}
) as f`
      : `left join (
    select
        ${column('period')},
        ${isFinal.join(',\n        ')}
    ${ofSlice}
    group by ${column('period')}
) as f on f.${column('period')} = cast(s.${column(grain)} as date)`;
  return `select
    ${cells.join(',\n    ')}
from ${table(name)} as s
${finality}`;
}
