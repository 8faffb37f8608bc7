/** `sources.yml` of dbt: the sources with descriptions, freshness and tests. Pure. */

import { Document } from 'yaml';

import { identifier } from '../../warehouse/sql.ts';
import type { DbtCopy, DbtSource, DbtTable, Freshness, Rule } from './source.ts';

/** The service's names that some engine takes for its own; whatever is no plain word is quoted too. */
const troubleNames = new Set([
  'hour',
  'day',
  'week',
  'month',
  'year',
  'quarter',
  'cost',
  'index',
  'value',
  'name',
  'label',
  'level',
]);

const isTrouble = (name: string): boolean => troubleNames.has(name) || !/^[a-z_][a-z0-9_]*$/.test(name);

const LINE_WIDTH = 120;

/** The file's text. */
export function sourcesYaml(copy: DbtCopy): string {
  const document = new Document({ version: 2, sources: copy.sources.map((source) => sourceNode(source, copy)) });
  document.commentBefore = heading(copy)
    .map((line) => ` ${line}`)
    .join('\n');
  return document.toString({ lineWidth: LINE_WIDTH });
}

function heading({ path, database }: DbtCopy): string[] {
  return [
    'Sources for dbt 1.10.5 or newer with dbt-duckdb, made by `ripen publish --dbt`: make them again after a slice',
    'or its columns changed. The file is replaced as a whole every night, so dbt attaches it and builds in one of its',
    'own. In profiles.yml:',
    `  attach: [{ path: ${JSON.stringify(path)}, alias: ${database}, read_only: true }]`,
  ];
}

function sourceNode({ name, comment, schema, tables }: DbtSource, { database }: DbtCopy): object {
  return {
    name,
    description: comment,
    database,
    schema,
    loader: 'ripen',
    quoting: { database: true, schema: true, identifier: true },
    tables: tables.map(tableNode),
  };
}

function tableNode({ name, comment, columns, rules, freshness }: DbtTable): object {
  const ofTable = rules.filter((rule) => rule.kind === 'unique_row');
  return {
    name,
    ...described(comment),
    ...(freshness === null ? {} : { config: freshnessNode(freshness) }),
    ...tested(ofTable.map((rule) => ruleNode(rule, name))),
    columns: columns.map((column) => ({
      name: unrendered(column.name),
      ...described(column.comment),
      data_type: column.type.toLowerCase(),
      ...(isTrouble(column.name) ? { quote: true } : {}),
      ...tested(
        rules
          .filter((rule) => rule.kind !== 'unique_row' && rule.column === column.name)
          .map((rule) => ruleNode(rule, name)),
      ),
    })),
  };
}

/** dbt renders texts with Jinja, where braces begin a command. */
const unrendered = (text: string): string => text.replaceAll('{', '{{ "{" }}');

const described = (comment: string | null): object => (comment === null ? {} : { description: unrendered(comment) });

const tested = (tests: readonly unknown[]): object => (tests.length === 0 ? {} : { data_tests: tests });

function freshnessNode({ query, warnAfterHours, errorAfterHours }: Freshness): object {
  return {
    freshness: {
      warn_after: { count: warnAfterHours, period: 'hour' },
      error_after: { count: errorAfterHours, period: 'hour' },
    },
    loaded_at_query: query,
  };
}

/** A test as dbt names it; a whole key is one value, as dbt's own test of a column takes an expression as well. */
function ruleNode(rule: Rule, table: string): unknown {
  if (rule.kind === 'not_null' || rule.kind === 'unique') return rule.kind;
  if (rule.kind === 'accepted_values') return { accepted_values: { arguments: { values: rule.values } } };
  if (rule.kind === 'relationships') {
    const to = `source('${rule.source}', '${rule.table}')`;
    return { relationships: { arguments: { to, field: rule.field } } };
  }
  const columnName = unrendered(`row(${rule.columns.map(identifier).join(', ')})`);
  return { unique: { name: `unique_row_of_${table}`, arguments: { column_name: columnName } } };
}
