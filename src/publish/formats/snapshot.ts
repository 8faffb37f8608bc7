/**
 * Publishes a copy of the whole warehouse, built beside the target, compared with the warehouse and renamed over the target. A
 * reader that has the old file open keeps it.
 */

import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

import * as z from 'zod';

import { Failure, storageFailed } from '../../errors.ts';
import { columnsNow, relationsIn } from '../../warehouse/relations.ts';
import { identifier, literal } from '../../warehouse/sql.ts';
import { readOrigin, tablesOf, withDatabase, type Database } from '../places/database.ts';
import { makeDirectory, replaceFile } from '../places/replacement.ts';
import { dimensionTables, ledgerRelations, sliceRelations, slicesIn } from '../tables.ts';
import type { Copy, DescribedTable, TargetOf } from '../copy.ts';

/** Dies with its parent, whose end closes its stdin. */
const COPY_SCRIPT = `
const fs = require('node:fs');
const [from, to] = process.argv.slice(1);
process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGKILL'));
fs.copyFile(from, to, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE, (error) => {
    if (error) process.stderr.write(error.message);
    process.exitCode = error ? 1 : 0;
    process.stdin.destroy();
});
`;

export function snapshotCopy(target: TargetOf<'duckdb'>): Copy {
  const { path, mode } = target;
  return {
    form: 'file',
    keepMs: 0,
    owner: async (publisher) => readOrigin(path, publisher),
    async publish({ warehouse, signal }) {
      await makeDirectory(dirname(path), mode);
      await replaceFile(path, mode, async (unfinished) => {
        await warehouse.run('checkpoint');
        const expected = await contentsOf(warehouse);
        await copyDatabase(warehouse.path, unfinished, signal);
        const copied = await withDatabase(unfinished, 'READ_ONLY', contentsOf);
        const line = expected.findIndex((text, index) => text !== copied[index]);
        if (line >= 0 || copied.length !== expected.length) {
          const difference = `expected ${expected[line] ?? 'nothing more'}, found ${copied[line] ?? 'nothing more'}`;
          const message = `The copy ${unfinished} differed from the warehouse: ${difference}.`;
          throw new Failure('STORAGE_FAILED', message, {
            hint: 'Check the disk and run `ripen publish` again; the old snapshot is still served.',
          });
        }
        signal.throwIfAborted();
      });
      return { files_written: 1, files_removed: 0, also_written: [] };
    },
    async describe(warehouse) {
      const slices = [...(await slicesIn(warehouse)).keys()];
      const ofSlices = slices.flatMap((slice) => sliceRelations.map((end) => `${slice}${end}`));
      const described = async (schema: string, names: readonly string[]) => {
        const relations = await relationsIn(warehouse, schema);
        const tables: DescribedTable[] = [];
        for (const relation of names.flatMap((name) => relations.get(name) ?? []))
          tables.push({ ...relation, columns: await columnsNow(warehouse, schema, relation) });
        return tables;
      };
      const main = await described('main', [...ofSlices, ...dimensionTables]);
      const schemas = { main, ripen: await described('ripen', ledgerRelations) };
      return { lake: null, database: { path, schemas } };
    },
  };
}

/** Copies a DuckDB file that this process may have open. Throws `STORAGE_FAILED`, or the signal's reason. */
export async function copyDatabase(from: string, to: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const command = ['-e', COPY_SCRIPT, '--', from, to];
  // A process loses DuckDB's lock on a file when it closes any other handle of the file (measured).
  await promisify(execFile)(process.execPath, command, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    const cause = words === '' ? error : new Error(words);
    throw storageFailed(`The file ${from} could not be copied to ${to}`, cause, {
      hint: 'Check free space and permissions of the target directory.',
    });
  });
}

const countRow = z.object({ name: z.string(), rows: z.string() });

/** Returns sorted lines: the newest load, and the number of rows of every table. */
export async function contentsOf(database: Database): Promise<string[]> {
  const counts = (await tablesOf(database)).map(({ schema_name: schema, table_name: table }) => {
    const name = literal(`rows in ${schema}.${table}`);
    return `select ${name} as name, count(*)::varchar as rows from ${identifier(schema)}.${identifier(table)}`;
  });
  const newest = `select 'newest load' as name, coalesce(max(load_id)::varchar, 'none') as rows from ripen.loads`;
  const rows = await database.rows([newest, ...counts].join('\nunion all\n'), [], countRow);
  return rows.map((row) => `${row.name}: ${row.rows}`).sort();
}
