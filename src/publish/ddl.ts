/** The statements that let an engine read lakes in place: every table and view, every column with type and comment. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { latestVersion } from './delta/commit.ts';
import { ddlRefusal, engineText, queryWords, type LakePlace } from './engine-text.ts';
import { engines, type Engine } from './engines.ts';
import { deltaTables, lakeTables, shownColumns, type LakeTable } from './lake-table.ts';
import { withStore } from './open-store.ts';
import { sliceViews } from './slice-views.ts';

export interface DescribedLake extends LakePlace {
  readonly tables: readonly LakeTable[];
}

/** The statements for every lake that an engine can read, lake by lake. Throws `USAGE_INVALID` if there is none. */
export async function lakesDdl(
  engine: Engine,
  publishing: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const lakes = await describedLakes(engine, publishing, warehouse, signal);
  return lakes.map((lake) => lakeDdl(engine, lake)).join('\n');
}

/** Every lake that an engine can read, each with a schema of its own. Throws `USAGE_INVALID` if there is none. */
export async function describedLakes(
  engine: Engine,
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<DescribedLake[]> {
  if (!engines.includes(engine)) {
    throw new Failure('USAGE_INVALID', `The engine ${engine} was not known.`, {
      hint: `Name one of ${engines.join(', ')}.`,
    });
  }
  const schemas = new Set<string>();
  const described: DescribedLake[] = [];
  const refusals: string[] = [];
  for (const target of publish) {
    if (target.kind === 'duckdb') continue;
    const isDelta = target.kind === 'delta';
    const place = { root: target.path, store: target.store ?? null, isDelta };
    const refusal = ddlRefusal(engine, place);
    if (refusal !== null) {
      refusals.push(refusal);
      continue;
    }
    const tables = await (isDelta ? deltaTables(warehouse) : lakeTables(warehouse));
    const night = isDelta
      ? await withStore(target, null, signal, latestVersion).catch(() => null)
      : null;
    described.push({ ...place, schema: schemaName(target.path, schemas), night, tables });
  }
  if (described.length > 0) return described;
  const because = refusals.length === 0 ? 'none is configured' : refusals.join('; ');
  throw new Failure('USAGE_INVALID', `There was no lake to describe: ${because}.`, {
    facts: { engine },
    hint: `Add a delta target to publish where ${engine} reads, or name another engine of ${engines.join(', ')}.`,
  });
}

/** Names that DuckDB uses for schemas or databases of its own. */
const takenByDuckdb = new Set(['information_schema', 'memory', 'pg_catalog', 'system', 'temp']);

/** A schema name from the last step of a lake's path, in letters that need no quotes in any engine; adds it to `taken`. */
export function schemaName(root: string, taken: Set<string>): string {
  const last = root.split('/').findLast((step) => step !== '') ?? '';
  const word = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/_+$/, '');
  const plain =
    /^(\d|$)/.test(word) || takenByDuckdb.has(word) ? `lake_${word}`.replace(/_$/, '') : word;
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${plain}_${count}`;
  taken.add(name);
  return name;
}

/** The statements for one lake, with notes on top; each ends in a semicolon. */
export function lakeDdl(engine: Engine, lake: DescribedLake): string {
  const { isDelta, root, tables } = lake;
  const words = queryWords(engine, lake);
  const texts = [
    `-- How ${engine} reads the ${isDelta ? 'Delta tables' : 'plain files'} in ${root}; made by \`ripen publish --ddl ${engine}\`.
-- Make and run the statements again after a slice or its columns change.`,
    engineText(engine, 'lake', lake),
    ...tables.map((each) => {
      const { name, comment, key } = each;
      const relation = { name, comment, columns: shownColumns(each) };
      return isDelta
        ? engineText(engine, 'Delta table', lake, relation)
        : engineText(engine, 'plain table', lake, { ...relation, key });
    }),
    ...tables.flatMap((each) =>
      sliceViews(each, words).map((view) => engineText(engine, 'view', lake, view)),
    ),
  ];
  return `${texts.join('\n\n')}\n`;
}
