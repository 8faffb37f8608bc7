/**
 * Deletes what Delta tables no longer need, and keeps released periods.
 *
 * Surplus files, and tables that were emptied because the warehouse no longer has them, are deleted after the time for which
 * older versions are kept, by the store's clock. Released periods, which `retain` deleted from the warehouse and a target with
 * `keep_released` still has, stay as last published.
 */

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import { identifier, literal, statement } from '../../warehouse/sql.ts';
import { fileText, type LakeTable } from '../lake-table.ts';
import type { Database } from '../other-database.ts';
import { UNFINISHED } from '../replacement.ts';
import type { LakeStore } from '../store.ts';
import { readTable, type Night, type StoredTable } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG, type Action, type Add } from './log.ts';
import { SLICE, type DeltaForm } from './table.ts';

/** The first day of a file's period; empty for an undivided table. */
const periodOf = ({ table }: Pick<StoredTable, 'table'>, { partitionValues }: Add): string =>
  partitionValues[table?.metaData.partitionColumns[0] ?? ''] ?? '';

/** The actions that remove files from a table. */
export const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: {
      path,
      deletionTimestamp: nowMs,
      dataChange: true,
      extendedFileMetadata: true,
      partitionValues,
      size,
    },
  }));

/** Names that publishing gives to files in a table's folders. Files of other names stay unless the log says they left. */
const OWN_FILE = new RegExp(
  `^(?:[^/]+=[^/]*/|${LOG}/)?(?:ripen-[0-9a-f-]+\\.parquet|[^/]+${UNFINISHED.replace('.', '\\.')})$`,
);

/**
 * Deletes files that were removed up to an instant, files of killed runs, and last the log before the newest checkpoint that is
 * older than the instant: every version since then can be read. An unpublished table's log is deleted once all of it is that
 * old.
 */
export async function sweep(
  { store, keptSinceMs }: Night,
  { name, table, lying, log }: StoredTable,
  isPublished: boolean,
): Promise<void> {
  if (table === null) return;
  const isOld = (path: string): boolean => (lying.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map(decodeURIComponent));
  const removedMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [
      decodeURIComponent(path),
      deletionTimestamp ?? 0,
    ]),
  );
  const surplus = [...lying.keys()].filter((path) => {
    const atMs = removedMs.get(path);
    if (active.has(path)) return false;
    return atMs === undefined ? OWN_FILE.test(path) && isOld(path) : atMs <= keptSinceMs;
  });
  const versions = [
    ...log.commits.map((each) => ({ version: each, path: commitPath(each) })),
    ...log.checkpoints.map((each) => ({ version: each, path: checkpointPath(each) })),
  ];
  // A checkpoint dated by a clock that was behind may look old and still follow versions that are kept.
  const kept = Math.min(
    Infinity,
    ...versions.flatMap((each) => (isOld(each.path) ? [] : [each.version])),
  );
  const begin = log.checkpoints.findLast((each) => each < kept) ?? 0;
  const isLeaving = !isPublished && kept === Infinity;
  const behind = versions
    .filter((each) => isLeaving || each.version < begin)
    .map(({ path }) => path);
  // Newest first: if this is stopped midway, the older files are still a table, which is emptied again.
  const oldLog = [...(isLeaving ? [HINT] : []), ...behind.toSorted().toReversed()];
  for (const path of [...surplus, ...oldLog]) await store.remove(`${name}/${path}`);
}

const releasedRow = z.object({ slice: z.string(), period: z.string() });

/** Per slice the first days of the periods that `retain` deleted from the warehouse. A period without rows has no file. */
export async function releasedPeriods(warehouse: Database): Promise<Night['released']> {
  const found = new Map<string, Set<string>>();
  for (const { slice, period } of await warehouse.rows(
    statement('publish/released'),
    [],
    releasedRow,
  )) {
    found.set(slice, (found.get(slice) ?? new Set()).add(period));
  }
  return found;
}

/** How many released periods Delta tables keep, and the bytes of their files. */
export async function releasedAt(
  store: LakeStore,
  warehouse: Database,
): Promise<{ readonly periods: number; readonly bytes: number }> {
  const released = await releasedPeriods(warehouse);
  const kept = { periods: 0, bytes: 0 };
  for (const name of released.keys()) {
    for (const { size } of releasedFiles(await readTable(store, warehouse, name), released)) {
      kept.periods += 1;
      kept.bytes += size;
    }
  }
  return kept;
}

/** The files of released periods in a table; empty unless it is a slice's own table. */
export function releasedFiles(stored: StoredTable, released: Night['released']): Add[] {
  const { name, table } = stored;
  const periods = released.get(name);
  if (table === null || periods === undefined || table.metaData.configuration[SLICE] !== name)
    return [];
  return [...table.files.values()].filter((add) => periods.has(periodOf(stored, add)));
}

/**
 * The text after `from` to read a released period as rows of the current table. Throws `STORAGE_FAILED` if a file is lost or
 * a column's type would change a value.
 */
export async function releasedSource(
  { store, warehouse }: Pick<Night, 'store' | 'warehouse'>,
  { table, nameInFiles }: DeltaForm,
  { lying }: StoredTable,
  { period, files }: { readonly period: string; readonly files: readonly Add[] },
): Promise<string> {
  const paths: string[] = [];
  for (const { path, size } of files) {
    const plain = decodeURIComponent(path);
    if (lying.get(plain)?.bytes !== size) {
      const lost = `${store.root}/${table.name}/${plain}`;
      const message = `The file ${lost} was missing or damaged; the warehouse deleted its period ${period} and cannot write it again.`;
      throw new Failure('STORAGE_FAILED', message, {
        facts: { path: lost, slice: table.name, period },
        hint: `Restore the file from a backup, or give the period up: \`ripen drop --slice ${table.name} --before DAY\`.`,
      });
    }
    paths.push(fileText(await store.fetch(`${table.name}/${plain}`)));
  }
  // Files lack their folder's column and columns added later; files from before names were mapped have the original names.
  const namesOf = (name: string): string[] => [...new Set([nameInFiles(name), name])];
  const none = table.columns.flatMap(({ name, type }) =>
    namesOf(name).map((each) => `cast(null as ${type}) as ${identifier(each)}`),
  );
  const cells = table.columns.map(({ name }) => {
    const found = `coalesce(${namesOf(name).map(identifier).join(', ')}, null)`;
    return `${name === table.key ? `cast(${literal(period)} as DATE)` : found} as ${identifier(name)}`;
  });
  const source = `(select ${cells.join(', ')} from (
    select ${none.join(', ')} where false
    union all by name
    from read_parquet([${paths.join(', ')}], hive_partitioning = false, union_by_name = true)
))`;
  await refuseChanges(warehouse, table, period, source);
  return source;
}

/** Throws `STORAGE_FAILED` if the type of a metric would change a value, as of one that was removed and added again. */
async function refuseChanges(
  warehouse: Database,
  table: LakeTable,
  period: string,
  source: string,
): Promise<void> {
  const metrics = table.columns.filter(({ name }) => table.metrics.includes(name));
  const changed = metrics.map(({ name, type }) => {
    const cell = identifier(name);
    return `case when bool_or(try_cast(${cell} as ${type}) is distinct from ${cell}) then ${literal(`${name} ${type}`)} end`;
  });
  const sql = `select concat_ws(', ', ${changed.join(', ')}) as columns from ${source}`;
  const [found] = await warehouse.rows(sql, [], z.object({ columns: z.string() }));
  const columns = found?.columns ?? '';
  if (columns === '') return;
  const message = `The only copy of ${table.name} in ${period} had values that its table cannot hold exactly: ${columns}.`;
  throw new Failure('STORAGE_FAILED', message, {
    facts: { slice: table.name, period, columns },
    hint: `State a wider type in \`types:\` of the slice, or give the period up: \`ripen drop --slice ${table.name} --before DAY\`.`,
  });
}
