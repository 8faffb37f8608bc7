/** Writes the blocks of a table as Parquet files into a store. */

import * as z from 'zod';

import { identifier, literal } from '../../warehouse/sql.ts';
import type { PlannedBlock } from '../contents.ts';
import { eachAtOnce, type LakeStore, type StoredFile } from '../places/store.ts';
import type { LakeTable } from '../tables.ts';
import type { Publishing } from '../target.ts';

const copyRow = z.object({
  count: z.coerce.number(),
  file_size_bytes: z.coerce.number(),
  column_statistics: z.array(
    z.object({ key: z.string(), value: z.array(z.object({ key: z.string(), value: z.string() })) }),
  ),
});

/** What DuckDB returns of a file that it wrote. */
export type CopyRow = z.infer<typeof copyRow>;

export interface WrittenBlock {
  readonly block: PlannedBlock;
  readonly path: string;
  readonly copied: CopyRow;
  readonly stored: StoredFile;
}

/** The table as its files have it. */
export interface FileLayout {
  readonly table: LakeTable;
  readonly columns: readonly {
    readonly name: string;
    readonly cell: string;
    /** The number of the column in files. */
    readonly id?: number;
  }[];
  readonly pathOf: (block: PlannedBlock) => string;
}

/** Writes one query at a time, and places as many files at once as the store allows. */
export async function writeBlocks(
  { warehouse, contents, signal }: Publishing,
  store: LakeStore,
  blocks: readonly PlannedBlock[],
  { table, columns, pathOf }: FileLayout,
): Promise<WrittenBlock[]> {
  const cells = columns.map(({ name, cell }) => `${cell} as ${identifier(name)}`);
  const ids = columns.flatMap(({ name, id }) =>
    id === undefined ? [] : `${identifier(name)}: ${id}`,
  );
  const options = ids.length === 0 ? '' : `, field_ids {${ids.join(', ')}}`;
  const written: WrittenBlock[] = [];
  for (let start = 0; start < blocks.length; start += store.atOnce) {
    const drafts: Omit<WrittenBlock, 'stored'>[] = [];
    for (const block of blocks.slice(start, start + store.atOnce)) {
      signal.throwIfAborted();
      const path = pathOf(block);
      // In the order in which loads wrote the rows.
      const sql = `copy (
select
    ${cells.join(',\n    ')}
from ${await contents.sourceOf(table)}
${block.condition === null ? '' : `where ${block.condition}`}
) to ${literal(await store.draft(path))} (format parquet, compression zstd, return_stats${options})`;
      for (const copied of await warehouse.rows(sql, [], copyRow))
        drafts.push({ block, path, copied });
    }
    const placed = eachAtOnce(store, drafts, async (draft) => {
      return { ...draft, stored: await store.place(draft.path) };
    });
    written.push(...(await placed));
  }
  return written;
}
