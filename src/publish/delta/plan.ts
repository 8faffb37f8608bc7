/** What a Delta table should hold, what it holds, and so which files to write, to keep and to let go. Writes nothing. */

import * as z from 'zod';

import { Failure } from '../../errors.ts';
import { day, type Day } from '../../model/calendar.ts';
import { count } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { daysToRead, readStamps, type PeriodStamp } from '../period-stamps.ts';
import type { LakeTable } from '../lake-table.ts';
import type { Reason } from '../report.ts';
import type { Standing } from './commit.ts';
import { heldColumns, readOther, schemaString, summarizeContent, typesIn } from './delta-table.ts';
import type { Add } from './log.ts';
import type { DeltaStore } from './delta-store.ts';

/**
 * What the tags of a file say of it, so that the next publish need not read its rows. Files with the older `ripen.content`, to
 * which a zero was a NULL, are read.
 */
export const fileTags = z.object({
  'ripen.hash': z.string(),
  'ripen.stamp': z.string(),
  'ripen.sums': z.string(),
});
export type FileTags = z.infer<typeof fileTags>;

/** A file to write. */
export interface NewFile {
  readonly period: Day | null;
  readonly rows: number;
  readonly tags: FileTags;
  readonly reason: Reason;
}

export interface TablePlan {
  readonly write: readonly NewFile[];
  /** Files whose rows came again, unchanged, with another load. */
  readonly restamp: readonly Add[];
  readonly gone: readonly Add[];
  /** Periods that go and have no new file. */
  readonly periodsGone: number;
}

const contentRow = z.object({
  period: z.string().nullable(),
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/** Compares a table of the warehouse with the Delta table as it stands. */
export async function planTable(place: Place, table: LakeTable, standing: Standing): Promise<TablePlan> {
  const { warehouse } = place;
  const held = filesByPeriod(table, standing);
  const stamps = await readStamps(warehouse, table);
  const stampOf = new Map(stamps?.map(({ period, stamp }) => [period ?? '', stamp]));
  const unsure = stamps?.filter(({ period, stamp }) => {
    const found = held.get(period ?? '') ?? [];
    return stamp === null || found.length !== 1 || found[0]?.wrong !== null || found[0].tags?.['ripen.stamp'] !== stamp;
  });
  const contents = unsure?.length === 0 ? [] : await contentsOf(warehouse, table, unsure ?? null, stamps?.length ?? 0);
  const write: NewFile[] = [];
  const restamp: Add[] = [];
  const gone: Add[] = [];
  const wanted = new Set(stamps?.map(({ period }) => period ?? ''));
  for (const { period, rows, content, sums } of contents) {
    if (period === null && table.key !== null) throw withoutPeriod(table, rows);
    wanted.add(period ?? '');
    const found = held.get(period ?? '') ?? [];
    const [only] = found;
    const tags = {
      'ripen.hash': content,
      'ripen.stamp': stampOf.get(period ?? '') ?? '',
      'ripen.sums': JSON.stringify(Object.fromEntries(table.summed.map((name, place) => [name, sums[place] ?? null]))),
    };
    const isAlone = only !== undefined && found.length === 1 && only.wrong === null;
    const lies = isAlone ? (only.tags?.['ripen.hash'] ?? (await contentOfOther(only.add, table, place))) : null;
    if (isAlone && lies === content) {
      if (only.tags?.['ripen.stamp'] !== tags['ripen.stamp']) restamp.push({ ...only.add, dataChange: false, tags });
      continue;
    }
    const isStated = found.length === 1 && only?.tags !== null;
    const reason = only === undefined ? 'new' : (only.wrong ?? (isStated ? 'changed' : 'unstated'));
    write.push({ period: period === null ? null : day(period), rows, tags, reason });
    gone.push(...found.map(({ add }) => add));
  }
  const left = [...held].filter(([period]) => !wanted.has(period));
  gone.push(...left.flatMap(([, files]) => files.map(({ add }) => add)));
  return { write, restamp, gone, periodsGone: left.length };
}

async function contentsOf(
  warehouse: Warehouse,
  table: LakeTable,
  unsure: readonly PeriodStamp[] | null,
  all: number,
): Promise<z.infer<typeof contentRow>[]> {
  return warehouse.rows(summarizeContent(table, unsure === null ? [] : daysToRead(unsure, all)), [], contentRow);
}

function withoutPeriod(table: LakeTable, rows: number): Failure {
  return new Failure('DATA_MALFORMED', `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`, {
    hint: 'Backfill the slice; its copies have no place for rows without a period.',
  });
}

interface Place {
  readonly warehouse: Warehouse;
  readonly store: DeltaStore;
}

/** What a file that another engine wrote holds, as `OPTIMIZE` does; null where nobody can say. */
async function contentOfOther(add: Add, table: LakeTable, { warehouse, store }: Place): Promise<string | null> {
  const source = readOther(table, add, await store.fetch(`${table.name}/${decodeURIComponent(add.path)}`));
  if (source === null) return null;
  // What cannot be read as the table's rows is not the period's content, whatever keeps it from being read.
  const found = await warehouse.rows(summarizeContent({ ...table, source }, []), [], contentRow).catch(() => []);
  return found.length === 1 ? (found[0]?.content ?? null) : null;
}

/** A file of the table, why it cannot stay (null when it can), and what ripen said of it (null of another engine's). */
interface HeldFile {
  readonly add: Add;
  readonly wrong: Reason | null;
  readonly tags: FileTags | null;
}

/** The files by first day; the empty text for a table that is not divided, and for files divided otherwise. */
function filesByPeriod(table: LakeTable, { table: before, lying }: Standing): ReadonlyMap<string, readonly HeldFile[]> {
  const found = new Map<string, HeldFile[]>();
  if (before === null) return found;
  const typesBefore = typesIn(before.metaData.schemaString);
  const typesNow = typesIn(schemaString(table));
  const isDividedAlike = before.metaData.partitionColumns.join() === (table.key ?? '');
  const wrongWith = (add: Add): Reason | null => {
    const file = lying.get(decodeURIComponent(add.path));
    if (file === undefined) return 'missing';
    if (file.bytes !== add.size) return 'damaged';
    const held = heldColumns(add.stats);
    if (held === null) return 'unstated';
    const fits = [...typesNow].every(([name, type]) => !held.has(name) || typesBefore.get(name) === type);
    return fits && isDividedAlike ? null : 'changed';
  };
  for (const add of before.files.values()) {
    const tags = fileTags.safeParse(add.tags);
    const file = { add, wrong: wrongWith(add), tags: tags.success ? tags.data : null };
    // What is divided by another column cannot be told from a period of this one, and goes.
    const period = isDividedAlike ? (add.partitionValues[table.key ?? ''] ?? '') : `other ${add.path}`;
    found.set(period, [...(found.get(period) ?? []), file]);
  }
  return found;
}
