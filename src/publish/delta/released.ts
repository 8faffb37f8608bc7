/**
 * Released periods: those that `retain` deleted from the warehouse and a target with `keep_released` still holds. Their files stay as they
 * were last published; only where the table's types changed are they written again, from themselves.
 */

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import { count, identifier, literal, statement } from '../../warehouse/sql.ts';
import type { Database } from '../other-database.ts';
import { fileText } from '../lake-sql.ts';
import type { LakeTable } from '../lake-table.ts';
import type { LakeStore } from '../store.ts';
import type { StoredTable } from './commit.ts';
import type { Add } from './log.ts';
import { SLICE } from './table.ts';

const releasedRow = z.object({ slice: z.string(), period: z.string(), rows: count });

/** Per slice the first days of its released periods that had rows. */
export async function releasedPeriods(warehouse: Database): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  for (const { slice, period, rows } of await warehouse.rows(statement('publish/released'), [], releasedRow)) {
    if (rows > 0) found.set(slice, (found.get(slice) ?? new Set()).add(period));
  }
  return found;
}

/** The files of released periods that a table holds; none of a table that is no slice's own. */
export function releasedFiles(
  { name, table }: Pick<StoredTable, 'name' | 'table'>,
  released: ReadonlyMap<string, ReadonlySet<string>>,
): Add[] {
  const periods = released.get(name);
  if (table === null || periods === undefined || table.metaData.configuration[SLICE] !== name) return [];
  return [...table.files.values()].filter((add) => periods.has(periodOf(table.metaData.partitionColumns, add)));
}

const periodOf = ([key = '']: readonly string[], { partitionValues }: Add): string => partitionValues[key] ?? '';

/** The condition on `ripen.released` for what some tables hold; periods without rows need no file. */
export function heldCondition(
  tables: readonly StoredTable[],
  released: ReadonlyMap<string, ReadonlySet<string>>,
): string {
  const held = tables.flatMap((stored) => {
    const columns = stored.table?.metaData.partitionColumns ?? [];
    const days = releasedFiles(stored, released).map((add) => `DATE ${literal(periodOf(columns, add))}`);
    return days.length === 0 ? [] : [`(slice = ${literal(stored.name)} and period in (${days.join(', ')}))`];
  });
  return ['rows = 0', ...held].join(' or ');
}

/** What stands after `from` to read the files of a released period as rows of the table as it is now. Throws `STORAGE_FAILED` where one is lost. */
export async function releasedSource(
  store: LakeStore,
  { table, names }: { readonly table: LakeTable; readonly names: ReadonlyMap<string, string> },
  { lying }: StoredTable,
  { period, files }: { readonly period: string; readonly files: readonly Add[] },
): Promise<string> {
  const paths: string[] = [];
  for (const { path, size } of files) {
    const plain = decodeURIComponent(path);
    if (lying.get(plain)?.bytes !== size) throw lost(`${store.root}/${table.name}/${plain}`, table.name, period);
    paths.push(fileText(await store.fetch(`${table.name}/${plain}`)));
  }
  // Files hold neither the column of their folder nor columns that were added later.
  const none = table.columns.flatMap(({ name, type }) =>
    [...new Set([name, names.get(name) ?? name])].map((each) => `cast(null as ${type}) as ${identifier(each)}`),
  );
  const cells = table.columns.map(({ name }) => {
    if (name === table.key) return `cast(${literal(period)} as DATE) as ${identifier(name)}`;
    const stored = names.get(name) ?? name;
    // A file from before the names were mapped has the other one.
    return stored === name
      ? identifier(name)
      : `coalesce(${identifier(stored)}, ${identifier(name)}) as ${identifier(name)}`;
  });
  return `(select ${cells.join(', ')} from (
    select ${none.join(', ')} where false
    union all by name
    from read_parquet([${paths.join(', ')}], hive_partitioning = false, union_by_name = true)
))`;
}

function lost(path: string, slice: string, period: string): Failure {
  const message = `The file ${path} was missing or damaged; the warehouse let its period ${period} go and cannot write it again.`;
  return new Failure('STORAGE_FAILED', message, {
    facts: { path, slice, period },
    hint: `Restore the file from a backup, or give the period up: \`ripen drop --slice ${slice} --before DAY\`.`,
  });
}
