/** A stand-in for dbt, which cannot be installed from npm: renders what the generated models use of it, and runs them in DuckDB. */

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { modelFiles } from '../../src/publish/dbt/models-sql.ts';
import type { DbtCopy } from '../../src/publish/dbt/source.ts';
import { identifier } from '../../src/warehouse/sql.ts';

export interface DbtProject {
  /** The models in the order they were built. */
  readonly models: readonly string[];
  rows(sql: string): Promise<Record<string, unknown>[]>;
  close(): void;
}

const row = z.array(z.record(z.string(), z.unknown()));

/** The text as dbt renders it; throws for a command that is neither a source, a model nor a text, as dbt does. */
export function rendered(text: string, { database, sources }: DbtCopy): string {
  return text.replaceAll(/\{([{%#])(.*?)[}%#]\}/gs, (command, kind: string, inner: string) => {
    const [, verb = '', first = '', second = ''] = /^ (source|ref)\('(\w+)'(?:, '(\w+)')?\) $/.exec(inner) ?? [];
    if (kind === '{' && inner === ' "{" ') return '{';
    if (verb === 'ref') return identifier(first);
    const source = sources.find(({ name }) => name === first);
    if (kind !== '{' || verb !== 'source' || source?.tables.some(({ name }) => name === second) !== true) {
      throw new Error(`dbt does not know ${command}`);
    }
    return [database, source.schema, second].map(identifier).join('.');
  });
}

/** Builds every model as a view in a database of its own, to which the copy is attached. */
export async function buildModels(copy: DbtCopy): Promise<DbtProject> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`attach '${copy.path}' as ${identifier(copy.database)} (read_only)`);
  const models: string[] = [];
  for (const { path, text } of modelFiles(copy)) {
    const [, name] = /^(?:staging|marts)\/(\w+)\.sql$/.exec(path) ?? [];
    if (name === undefined) continue;
    await connection.run(`create view ${identifier(name)} as ${rendered(text, copy)}`);
    models.push(name);
  }
  return {
    models,
    rows: async (sql) => row.parse((await connection.runAndReadAll(sql)).getRowObjectsJson()),
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
