/** The statements with which an engine reads a lake where it lies: every table, every column with type and comment. Pure. */

import { finalRows } from '../final-rows.ts';
import { athena } from './athena.ts';
import { clickhouse } from './clickhouse.ts';
import { deltaWords } from './delta.ts';
import type { DescribedLake, Dialect } from './dialect.ts';
import { duckdb } from './duckdb.ts';
import type { engines } from './engines.ts';
import { spark } from './spark.ts';
import { trino } from './trino.ts';

export type Engine = (typeof engines)[number];

const dialects: Readonly<Record<Engine, Dialect>> = { athena, clickhouse, duckdb, spark, trino };

const dialectFor = (engine: Engine, { isDelta }: DescribedLake): Dialect =>
  isDelta ? { ...dialects[engine], ...deltaWords[engine] } : dialects[engine];

/** Why an engine cannot read a lake there; null when it can. */
export function ddlRefusal(engine: Engine, lake: DescribedLake): string | null {
  return dialectFor(engine, lake).refusal(lake);
}

/** The statements for one lake, headed by what is to be known of them; each ends in a semicolon. */
export function lakeDdl(engine: Engine, lake: DescribedLake): string {
  const dialect = dialectFor(engine, lake);
  const heading = [
    `How ${dialect.title} reads the ${lake.isDelta ? 'Delta tables' : 'lake'} ${lake.root}; made by \`ripen publish --ddl ${engine}\`.`,
    dialect.proof,
    ...dialect.notes(lake),
    'Make and run the statements again after a slice or its columns changed.',
  ];
  const statements = [
    ...dialect.preamble(lake),
    ...lake.tables.flatMap((table) => dialect.table(table, lake)),
    ...lake.tables.filter(({ metrics }) => metrics.length > 0).map((table) => finalView(dialect, table, lake)),
  ];
  return [...heading.map((line) => `-- ${line}\n`), ...statements.map((sql) => `\n${sql};\n`)].join('');
}

function finalView(dialect: Dialect, table: DescribedLake['tables'][number], { schema }: DescribedLake): string {
  const name = (given: string): string => dialect.name(given, schema);
  const rows = finalRows(table, { column: (given) => dialect.name(given), table: name, text: dialect.text });
  return `create or replace view ${name(`${table.name}_final`)} as\n${rows}`;
}

/** Schemas that DuckDB has already, or takes for a database of its own. */
const takenByDuckdb = new Set(['information_schema', 'memory', 'pg_catalog', 'system', 'temp']);

/** A name for the schema of a lake, from the last step of its path: small letters, digits and `_`, unlike those taken. */
export function schemaName(root: string, taken: ReadonlySet<string>): string {
  const last = root.split('/').findLast((step) => step !== '') ?? '';
  const word = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/_+$/, '');
  const plain = /^(\d|$)/.test(word) || takenByDuckdb.has(word) ? `lake_${word}`.replace(/_$/, '') : word;
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? plain : `${plain}_${count}`;
    if (!taken.has(name)) return name;
  }
}
