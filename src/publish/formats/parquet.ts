/**
 * Publishes the slices as Parquet files, one per block of periods, and the dimension tables beside them. Files without rows are
 * removed first, so that no reader meets two versions of a period. Finality is written after the cells it describes, and
 * `_manifest.json` last. A file that differs from its size and etag there is written again. Each names its warehouse and
 * table, so that those of a dropped slice are known even if the manifest is lost or older.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import { buckets, type Bucket } from '../../model/calendar.ts';
import {
  filesOf,
  type PlannedBlock,
  rowsIn,
  type StoredBlock,
  type TablePlan,
} from '../contents.ts';
import { withStore } from '../places/disk.ts';
import { UNFINISHED } from '../places/replacement.ts';
import { draftText, type LakeStore } from '../places/store.ts';
import { jsonOf } from '../../warehouse/sql.ts';
import { castCell, FINALITY, lakeTables, type LakeTable } from '../tables.ts';
import type { Copy, Publishing, TargetOf } from '../copy.ts';

/** Engines skip names that begin with an underscore. */
export const MANIFEST = '_manifest.json';

const lakeFile = z.object({
  path: z.string(),
  rows: z.number(),
  /** A zod record would drop `__proto__`. */
  sums: z.custom<PlannedBlock['sums']>((value) => z.object().safeParse(value).success),
  bytes: z.number(),
  unit: z.enum(buckets).nullable(),
  content: z.string(),
  stamp: z.string(),
  etag: z.string().nullable(),
});

type LakeFile = z.infer<typeof lakeFile>;

const manifestShape = jsonOf(
  z.object({
    files: z.array(lakeFile),
    warehouse: z.string(),
    publish: z.object({ number: z.number(), atMs: z.number() }),
  }),
);

const readManifest = async (store: LakeStore) =>
  manifestShape.safeParse(await store.read(MANIFEST)).data ?? null;

const BLOCK_FILE = /^([^/]+)\/(\d{4}(?:-\d\d){0,2}|data)\.parquet$/;

const pathOf = ({ name, dividedBy }: LakeTable, block: string) =>
  `${name}/${dividedBy === null ? 'data' : block}.parquet`;

export function parquetCopy(target: TargetOf<'parquet'>): Copy {
  const { path: root, store = null } = target;
  return {
    form: store === null ? 'folder' : 'bucket',
    keepMs: 0,
    owner: async (_, signal) =>
      withStore(target, null, signal, async (lake) => {
        if ((await lake.list(`${FINALITY}/_delta_log`)).size > 0)
          throw otherKind(root, 'plain files', 'Delta tables');
        return readManifest(lake);
      }),
    publish: async (publishing) =>
      withStore(target, publishing.warehouse, publishing.signal, async (lake) =>
        publishFiles(publishing, lake),
      ),
    async describe(warehouse) {
      const tables = await lakeTables(warehouse, { relations: false });
      return { lake: { root, store, files: 'plain files', night: null, tables }, database: null };
    },
  };
}

/** Returns the failure for a folder of the other kind: readers would read both. */
export function otherKind(root: string, wanted: string, stored: string): Failure {
  const message = `The folder ${root} contains ${stored} of an earlier configuration, not ${wanted}.`;
  return new Failure('USAGE_INVALID', message, {
    facts: { path: root },
    hint: 'Publish to a folder of its own, or remove this one.',
  });
}

async function publishFiles(publishing: Publishing, store: LakeStore) {
  const { warehouse, contents, owner, publish, isLater, signal } = publishing;
  const before = await readManifest(store);
  const entries = new Map(before?.files.map((file) => [file.path, file]));
  const storedFiles = await store.list('');
  const plans: { table: LakeTable; plan: TablePlan<LakeFile>; prefix: string }[] = [];
  const wanted = new Set<string>();
  for (const table of await lakeTables(warehouse, { relations: false })) {
    // If columns change, all files are written again, so that every engine sees one schema.
    const columns = table.columns.map(({ name, type }) => [name, type]);
    const hash = createHash('sha256').update(JSON.stringify([table.dividedBy, columns]));
    const prefix = `${hash.digest('hex').slice(0, 16)} `;
    const blocks: StoredBlock<LakeFile>[] = [];
    let unit: Bucket | null = null;
    for (const [path, entry] of entries) {
      const [, name, block = ''] = BLOCK_FILE.exec(path) ?? [];
      if (name !== table.name) continue;
      unit = entry.unit;
      const file = storedFiles.get(path);
      const isAsWritten = entry.bytes === file?.bytes && entry.etag === file.etag;
      if (!isAsWritten || !entry.content.startsWith(prefix)) continue;
      const content = { content: entry.content.slice(prefix.length), stamp: entry.stamp };
      blocks.push({ name: table.dividedBy === null ? '' : block, ...content, file: entry });
    }
    const plan = await contents.plan(table, unit, blocks);
    plans.push({ table, plan, prefix });
    for (const block of [...plan.write, ...plan.keep]) wanted.add(pathOf(table, block.name));
  }
  const tables = new Set(plans.map(({ table }) => table.name));
  const unlisted = [...storedFiles.keys()].filter((path) => {
    const [, folder = ''] = BLOCK_FILE.exec(path) ?? [];
    return folder !== '' && !tables.has(folder) && !entries.has(path);
  });
  const dropped = new Set(await filesOf(owner, unlisted, store, warehouse));
  const surplus = [...storedFiles.keys()].filter((path) => {
    const [folder = ''] = path.split('/');
    if (path.endsWith(UNFINISHED)) return tables.has(folder) || path.startsWith(MANIFEST);
    const isListed = entries.has(path) || dropped.has(path);
    return !wanted.has(path) && (isListed || (tables.has(folder) && BLOCK_FILE.test(path)));
  });
  signal.throwIfAborted();
  for (const path of surplus) await store.remove(path);
  const files: LakeFile[] = [];
  let filesWritten = 0;
  for (const { table, plan, prefix } of plans) {
    const { unit, write, keep } = plan;
    const layout = {
      columns: table.columns.map((column) => ({ name: column.name, cell: castCell(column) })),
      options: 'format parquet, compression zstd',
      pathOf: ({ name }: PlannedBlock) => pathOf(table, name),
    };
    const written = await contents.write(table, write, layout, { store, owner, signal });
    filesWritten += written.length;
    const ofTable = written.map(({ block, path, stored: { bytes, etag } }) => {
      const { sums, stamp } = block;
      const content = `${prefix}${block.content}`;
      return { path, rows: rowsIn(block), sums, bytes, unit, content, stamp, etag };
    });
    for (const { file, stamp } of keep) ofTable.push({ ...file, stamp });
    files.push(...ofTable.sort((one, other) => (one.path < other.path ? -1 : 1)));
  }
  // The manifest has every kept file, so that equal counts mean the same files. New stamps alone do not matter.
  const isSame =
    filesWritten === 0 && files.length === entries.size && before?.warehouse === owner && !isLater;
  if (!isSame) {
    const lines = files.map((file) => JSON.stringify(file));
    const text = `{"files":[\n${lines.join(',\n')}\n],\n"warehouse":${JSON.stringify(owner)},\n"publish":${JSON.stringify(publish)}}\n`;
    await draftText(store, MANIFEST, text);
    await store.place(MANIFEST);
  }
  return {
    files_written: filesWritten,
    files_removed: surplus.filter((path) => !path.endsWith(UNFINISHED)).length,
    also_written: isSame ? [] : [MANIFEST],
  };
}
