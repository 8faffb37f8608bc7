/** The models folder of a dbt project: the sources, a model per slice with what is final of it, an example of a mart; pure. */

import { identifier, literal } from '../../warehouse/sql.ts';
import type { DbtCopy, DbtSlice } from './source.ts';
import { sourcesYaml } from './sources-yaml.ts';

export interface DbtFile {
  /** Below the folder of models. */
  readonly path: string;
  readonly text: string;
  /** Written where it is not there yet, and left to its owner from then on. */
  readonly isExample: boolean;
}

/** The sources, a staging model per slice, and the mart of the first slice that can have one. */
export function modelFiles(copy: DbtCopy): DbtFile[] {
  const marts = copy.slices.flatMap((slice) => {
    const text = martModel(slice);
    return text === null ? [] : [{ path: `marts/${slice.name}_final_totals.sql`, text, isExample: true }];
  });
  return [
    { path: 'staging/ripen_sources.yml', text: sourcesYaml(copy), isExample: false },
    ...copy.slices.map((slice) => ({
      path: `staging/${stagingName(slice.name)}.sql`,
      text: stagingModel(slice),
      isExample: false,
    })),
    ...marts.slice(0, 1),
  ];
}

/** Of the model of a slice. */
const stagingName = (slice: string): string => `stg_${slice}`;

/** A name that dbt passes on as it is: it renders the whole file, and braces begin a command. */
const quoted = (name: string): string => identifier(name).replaceAll('{', '{{ "{" }}');
const text = (value: string): string => literal(value).replaceAll('{', '{{ "{" }}');

/** The columns that say what is final of a row: one a metric, and one for all of them. Never the name of another column. */
function flagsOf({ columns, metrics }: DbtSlice): { all: string; of: (metric: string) => string } {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  const free = (name: string): string => (taken.has(name.toLowerCase()) ? free(`${name}_`) : name);
  const byMetric = new Map(metrics.map((metric) => [metric, free(`${metric}_is_final`)]));
  return { all: free('is_final'), of: (metric) => byMetric.get(metric) ?? '' };
}

/** Every column under its own name, with its type, and beside it what is final. */
function stagingModel(slice: DbtSlice): string {
  const { name, columns, grain, metrics, finality } = slice;
  const flags = flagsOf(slice);
  const [source, table] = finality;
  const isFinal = metrics.map(
    (metric) => `bool_or(is_final) filter (where metric = ${text(metric)}) as ${quoted(flags.of(metric))}`,
  );
  return `-- A row as the service reports it, typed, and which of its metrics can no longer change.
-- Made by \`ripen publish --dbt\`: make it again after the slice or its columns changed.
with finality as (
    select
        ${[...(grain === null ? [] : ['period']), `bool_and(is_final) as ${quoted(flags.all)}`, ...isFinal].join(',\n        ')}
    from {{ source('${source}', '${table}') }}
    where slice = ${literal(name)}${grain === null ? '' : '\n    group by period'}
)

select
    ${[
      ...columns.map((column) => `cast(s.${quoted(column.name)} as ${column.type}) as ${quoted(column.name)}`),
      ...[flags.all, ...metrics.map(flags.of)].map((flag) => `coalesce(f.${quoted(flag)}, false) as ${quoted(flag)}`),
    ].join(',\n    ')}
from {{ source('ripen', '${name}') }} as s
${grain === null ? 'cross join finality as f' : `left join finality as f on f.period = cast(s.${quoted(grain)} as date)`}
`;
}

/** The totals of each period, as far as they are final; null without a date or a metric that adds up. */
function martModel(slice: DbtSlice): string | null {
  const { name, grain, additive } = slice;
  if (grain === null || additive.length === 0) return null;
  const flags = flagsOf(slice);
  const totals = additive.map(
    (metric) => `sum(${quoted(metric)}) filter (where ${quoted(flags.of(metric))}) as ${quoted(metric)}`,
  );
  return `-- An example to begin with: totals by ${grain}, NULL until they can no longer change. Ratios are left out: they do not add up.
-- Written once by \`ripen publish --dbt\`, and yours from then on.
select
    ${[quoted(grain), ...totals].join(',\n    ')}
from {{ ref('${stagingName(name)}') }}
group by ${quoted(grain)}
`;
}
