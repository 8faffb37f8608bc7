/**
 * Fills in an engine's template in `sql/engines`. Lines such as `-- Delta tables:` divide it; what is before them is for the
 * lake. `{word}` is a value, escaped for its quotes. A line after `[word]` is repeated for each value of that word, with commas
 * between unless it ends in a semicolon, or stands if the word is a condition that holds. Without a `[disk]` line, the engine
 * cannot read from disk.
 */

import type { ObjectStore } from '../../config/config.ts';
import { statement } from '../../warehouse/sql.ts';
import { fileText, FINALITY, type LakeTable } from '../tables.ts';
import type { DescribedTable, Lake } from '../copy.ts';
import type { Engine } from './engines.ts';

export interface EngineLake extends Lake {
  readonly schema: string;
}

const doubling = (quote: string) => (text: string) => text.replaceAll(quote, quote + quote);
const backslashing = (quote: string) => (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`).replaceAll('\n', '\\n');

/** The quote of names, and how names and texts are escaped. */
const ansi = { quote: '"', name: doubling('"'), text: doubling("'") };
const hive = { quote: '`', name: doubling('`'), text: backslashing("'") };
const escaping = { quote: '`', name: backslashing('`'), text: backslashing("'") };

const quotings: Readonly<Record<Engine, typeof ansi>> = {
  clickhouse: escaping,
  trino: ansi,
  spark: hive,
  databricks: hive,
  athena: ansi,
  snowflake: { ...ansi, text: backslashing("'") },
  bigquery: escaping,
  duckdb: ansi,
};

type Part = 'lake' | Lake['files'] | 'tables in views' | 'views' | 'types';

function templateOf(engine: Engine, part: Part) {
  const parts = ['lake', ...statement(`engines/${engine}`).split(/^-- ([\w ]+):\n/m)];
  const at = parts.indexOf(part);
  return at < 0 ? null : (parts[at + 1] ?? null);
}

export function ddlRefusal(
  engine: Engine,
  { root, store, files }: Pick<Lake, 'root' | 'store' | 'files'>,
): string | null {
  const template = templateOf(engine, files);
  if (template === null) return `${engine} reads Delta tables, not the ${files} in ${root}`;
  if (store === null && !statement(`engines/${engine}`).includes('\n[disk] '))
    return `${engine} reads s3:// alone, not ${root}`;
  // Only DuckDB's pattern escapes them.
  const hasWildcards = template.includes("'{root}/{table}/*") && /[*?{}]/.test(root);
  return hasWildcards ? `${engine} takes the * ? { } in ${root} as wildcards` : null;
}

function typeIn(engine: Engine, type: string) {
  const [name = type, digits = ''] = type.split(/(?=\()/);
  const listed = new RegExp(`^${name} (.+)$`, 'm').exec(templateOf(engine, 'types') ?? '')?.[1];
  return listed?.replace('{digits}', digits) ?? type.toLowerCase();
}

type QueryWords = ReturnType<typeof queryWords>;

/** Returns how an engine writes queries over the tables of a lake, each at the lake's night. */
export function queryWords(engine: Engine, lake: EngineLake) {
  const { quote, name, text } = quotings[engine];
  return {
    column: (id: string) => `${quote}${name(id)}${quote}`,
    text: (words: string) => `'${text(words)}'`,
    type: (name: string) => typeIn(engine, name),
    from: (table: string) =>
      engineText(engine, 'tables in views', lake, { ...none, name: table }).replaceAll('\n', ' '),
  };
}

type Values = Readonly<Record<string, string>>;

const none = { name: '', comment: null, columns: [] };

/** Returns an engine's statements for a table or view, or for `lake` those before all tables. */
export function engineText(
  engine: Engine,
  part: Part,
  { root, store, files, night, schema }: EngineLake,
  { name: table, comment, columns, rows = '' }: DescribedTable = none,
): string {
  // Athena quotes like Hive in statements about tables, and like Trino in queries.
  const { quote, name, text } = engine === 'athena' && part === files ? hive : quotings[engine];
  const shown = columns.map((column) => ({
    name: name(column.name),
    type: typeIn(engine, column.type),
    comment: text(column.comment ?? ''),
  }));
  const endpoint = store === null || store.endpoint === null ? null : new URL(store.endpoint);
  const values: Values = {
    schema,
    table,
    comment: text(comment ?? ''),
    rows,
    root: text(root),
    path: text(root.replace(/^s3:/, '')),
    address: store === null ? '' : text(httpAddress(store)),
    pattern: fileText(root).slice(1, -1),
    structure: text(
      shown.map((column) => `${quote}${column.name}${quote} ${column.type}`).join(', '),
    ),
    night: String(night),
    region: text(store?.region ?? ''),
    host: text(endpoint?.host ?? ''),
    ssl: String(endpoint?.protocol === 'https:'),
  };
  const lists: Record<string, readonly Values[]> = {
    column: shown,
    commented: shown.filter((column) => column.comment !== ''),
  };
  const conditions: Record<string, boolean> = {
    [files]: true,
    night: night !== null,
    newest: night === null,
    disk: store === null,
    bucket: store !== null,
    region: typeof store?.region === 'string',
    endpoint: endpoint !== null,
    'path style': store?.pathStyle === true,
  };
  const lines = (templateOf(engine, part) ?? '').trim().split('\n');
  const filled = lines.flatMap((line) => {
    const [, word, template = line] = /^\[([A-Za-z ]+)\] (.*)$/.exec(line) ?? [];
    const isOnce = word === undefined || conditions[word] === true;
    const repeated = isOnce ? [{}] : (lists[word] ?? []);
    return repeated.map((item: Values, at) => {
      const all = { ...values, ...item };
      const separator = at === repeated.length - 1 || template.endsWith(';') ? '' : ',';
      return `${template.replaceAll(/\{(\w+)\}/g, (whole, key: string) => all[key] ?? whole)}${separator}`;
    });
  });
  const isNoGap = (line: string, at: number) => line !== '' || filled[at - 1] !== '';
  return filled.filter(isNoGap).join('\n').trimEnd();
}

function httpAddress({ bucket, prefix, region, pathStyle, endpoint }: ObjectStore): string {
  const address = new URL(
    endpoint ?? `https://s3.${region === null ? '' : `${region}.`}amazonaws.com`,
  );
  if (!pathStyle) address.hostname = `${bucket}.${address.hostname}`;
  const steps = [address.href.replace(/\/+$/, ''), pathStyle ? bucket : '', prefix];
  return steps.filter((step) => step !== '').join('/');
}

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

const ofSlice = (name: string, { column, from, text }: QueryWords) =>
  `from ${from(FINALITY)} where ${column('slice')} = ${text(name)}`;

const samePeriod = (grain: string, { column }: QueryWords) =>
  `f.${column('period')} = cast(s.${column(grain)} as date)`;

function finalRows({ name, columns, metrics, grain, isCube }: LakeTable, words: QueryWords) {
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
) {
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
  const computed: Values = {
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
