/**
 * Finds out which files of a copy differ from the warehouse, and writes those. A file states what its rows were made from, so
 * that only blocks are read which loads touched since.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, type Bucket, type DayInterval } from '../model/calendar.ts';
import { isExact, parseColumnType } from '../model/column-type.ts';
import { bucketFor } from '../model/period.ts';
import {
  count,
  dayLiteral,
  dayShape,
  exactSum,
  identifier,
  literal,
  statement,
  sumText,
} from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Block, blockAt, blockUnit, type PeriodRows } from './blocks.ts';
import { eachAtOnce, type LakeStore } from './places/store.ts';
import { relationsIn } from '../warehouse/relations.ts';
import { castCell, fileText, type LakeTable } from './tables.ts';

interface BlockContent {
  /** Equal for equal rows, in any order. Begins with their number. */
  readonly content: string;
  /** What the rows were made from; empty if that is not known. */
  readonly stamp: string;
}

/** A file that may stay as it is, with what it states of its rows. */
export interface StoredBlock<F> extends BlockContent {
  /** Empty for an undivided table. */
  readonly name: string;
  readonly file: F;
}

export interface PlannedBlock extends BlockContent {
  readonly name: string;
  readonly condition: string | null;
  /** Per metric of an exact type the sum as decimal text; null if all values are NULL. */
  readonly sums: Readonly<Record<string, string | null>>;
}

export interface TablePlan<F> {
  readonly unit: Bucket | null;
  readonly write: readonly PlannedBlock[];
  /** Stored blocks whose rows are unchanged; their stamp may be new. */
  readonly keep: readonly StoredBlock<F>[];
}

export const rowsIn = ({ content }: Pick<BlockContent, 'content'>): number =>
  Number(content.split('-')[0]);

interface StampedPeriod extends PeriodRows {
  readonly stamp: string;
}

const periodRow = z.object({ slice: z.string(), start: dayShape, rows: count, stamp: z.string() });
const viewRow = z.object({ name: z.string(), slice: z.string(), stamp: z.string() });
const countRow = z.object({ slice: z.string(), rows: count });
const scannedRow = z.object({ start: dayShape.nullable(), rows: count });
const summaryRow = z.object({
  start: dayShape.nullable(),
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

const digestOf = (texts: readonly string[]) => createHash('md5').update(texts.join()).digest('hex');

/** Every block of a view has one stamp, which says how many there are. */
const viewStamp = (stamp: string, blocks: ReadonlyMap<string, unknown>) =>
  `${blocks.size} ${stamp}`;

/** In the footer of each file: the warehouse, and the table for which it was written. */
const OWNER = 'ripen_table';
const ownerRow = z.object({ owner: z.string() });

/** Returns the files that a warehouse wrote for the tables in whose folders they lie. A file that cannot be read may be anybody's. */
export async function filesOf(
  owner: string,
  paths: Iterable<string>,
  store: LakeStore,
  warehouse: Pick<Warehouse, 'rows'>,
): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const [folder = ''] = path.split('/');
    const ownersIn = async (file: string) =>
      warehouse.rows(
        `select decode(value) as owner from parquet_kv_metadata(${fileText(file)}) where decode(key) = '${OWNER}'`,
        [],
        ownerRow,
      );
    const [footer] = await store
      .fetch(path)
      .then(ownersIn)
      .catch(() => []);
    if (footer?.owner === `${owner}/${folder}`) found.push(path);
  }
  return found;
}

/** What the warehouse holds during one publish. */
export class Contents {
  readonly #session: Pick<Warehouse, 'rows' | 'run'>;
  /** By slice, what the ledger says of its periods. */
  readonly #periods = new Map<string, StampedPeriod[]>();
  /** By view, a stamp of what it is computed from. */
  readonly #views = new Map<string, string>();
  readonly #computed = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Null for a block without rows. */
  readonly #summaries = new Map<string, Pick<PlannedBlock, 'content' | 'sums'> | null>();

  constructor(session: Pick<Warehouse, 'rows' | 'run'>) {
    this.#session = session;
  }

  static async read(session: Warehouse): Promise<Contents> {
    const contents = new Contents(session);
    const periods = contents.#periods;
    for (const row of await session.rows(statement('publish/periods'), [], periodRow)) {
      const ofSlice = periods.get(row.slice) ?? [];
      periods.set(row.slice, ofSlice);
      ofSlice.push(row);
    }
    for (const view of await session.rows(statement('publish/views'), [], viewRow)) {
      const { name, slice, stamp } = view;
      const ofSlice = name.endsWith('_maturation') ? [] : (periods.get(slice) ?? []);
      contents.#views.set(name, digestOf([stamp, ...ofSlice.map((period) => period.stamp)]));
    }
    const tables = await relationsIn(session, 'main');
    const counts = [...periods.keys()].flatMap((slice) =>
      tables.get(slice)?.isTable === true
        ? `select ${literal(slice)} as slice, count(*) as rows from main.${identifier(slice)}`
        : [],
    );
    if (counts.length === 0) return contents;
    for (const { slice, rows } of await session.rows(counts.join('\nunion all\n'), [], countRow))
      contents.#counts.set(slice, rows);
    return contents;
  }

  /** Throws `DATA_MALFORMED` for rows without a period. */
  async plan<F>(
    table: LakeTable,
    unit: Bucket | null,
    files: readonly StoredBlock<F>[],
  ): Promise<TablePlan<F>> {
    const { name: tableName, dividedBy } = table;
    const blocks = new Map<string, StoredBlock<F>>();
    // Of two files of one block the first counts.
    for (const block of files.toReversed()) blocks.set(block.name, block);
    const stamped = table.isOfSlice ? this.#periods.get(tableName) : undefined;
    if (stamped !== undefined) {
      const plan = await this.#compare(table, { unit, blocks }, stamped);
      const rows = [...plan.write, ...plan.keep].reduce((sum, block) => sum + rowsIn(block), 0);
      // If the ledger does not account for all rows, the table is scanned.
      if (rows === this.#counts.get(tableName)) return plan;
    }
    const stamp = table.isTable ? '' : (this.#views.get(tableName) ?? '');
    const keep = [...blocks.values()];
    const isSame = keep.every((block) => block.stamp === viewStamp(stamp, blocks));
    if (stamp !== '' && keep.length > 0 && isSame) return { unit, write: [], keep };
    if (dividedBy === null)
      return this.#compare(table, { unit, blocks }, [{ start: day('1970-01-01'), rows: 0, stamp }]);
    const date = `cast(${identifier(dividedBy)} as DATE)`;
    const sql = `select ${date} as start, count(*) as rows from ${await this.#sourceOf(table)} group by 1 order by 1`;
    const periods = (await this.#session.rows(sql, [], scannedRow)).map(({ start, rows }) => {
      if (start !== null) return { start, rows, stamp };
      const message = `The slice ${tableName} held ${rows} rows without a ${dividedBy}.`;
      throw new Failure('DATA_MALFORMED', message, {
        hint: 'Backfill the slice; its copies cannot store rows without a period.',
      });
    });
    return this.#compare(table, { unit, blocks }, periods);
  }

  /** Writes one file at a time, and places as many at once as the store allows. */
  async write(
    table: LakeTable,
    blocks: readonly PlannedBlock[],
    layout: {
      readonly columns: readonly { readonly name: string; readonly cell: string }[];
      /** Of COPY. */
      readonly options: string;
      readonly pathOf: (block: PlannedBlock) => string;
    },
    { store, owner, signal }: { store: LakeStore; owner: string; signal: AbortSignal },
  ) {
    const ownedBy = `kv_metadata {${OWNER}: ${literal(`${owner}/${table.name}`)}}`;
    const cells = layout.columns.map(({ name, cell }) => `${cell} as ${identifier(name)}`);
    const written = [];
    for (let start = 0; start < blocks.length; start += store.atOnce) {
      const drafts: { block: PlannedBlock; path: string; copied: unknown }[] = [];
      for (const block of blocks.slice(start, start + store.atOnce)) {
        signal.throwIfAborted();
        const path = layout.pathOf(block);
        // In the order of the loads.
        const sql = `copy (
select
    ${cells.join(',\n    ')}
from ${await this.#sourceOf(table)}
${block.condition === null ? '' : `where ${block.condition}`}
) to ${literal(await store.draft(path))} (${layout.options}, ${ownedBy})`;
        const [copied] = await this.#session.rows(sql, [], z.unknown());
        drafts.push({ block, path, copied });
      }
      const place = async (draft: (typeof drafts)[number]) => ({
        ...draft,
        stored: await store.place(draft.path),
      });
      written.push(...(await eachAtOnce(store, drafts, place)));
    }
    return written;
  }

  /** Computes the rows of a view at its first use, for all copies. */
  async #sourceOf({ name, source, isTable }: LakeTable): Promise<string> {
    if (isTable) return source;
    const relation = `temp.${identifier(`published ${name}`)}`;
    if (!this.#computed.has(name))
      await this.#session.run(`create temp table ${relation} as (from ${source})`);
    this.#computed.add(name);
    return relation;
  }

  async #compare<F>(
    table: LakeTable,
    stored: { readonly unit: Bucket | null; readonly blocks: ReadonlyMap<string, StoredBlock<F>> },
    periods: readonly StampedPeriod[],
  ): Promise<TablePlan<F>> {
    const { name: tableName, dividedBy, grain, isTable } = table;
    const shortest = bucketFor(grain ?? 'day');
    const unit = dividedBy === null ? null : blockUnit(shortest, periods, stored.unit);
    const blocks = new Map<string, { days: DayInterval | null; stamps: string[] }>();
    let at: Block | null = null;
    for (const { start, stamp } of periods) {
      // The periods of a block follow one another.
      if (unit !== null && (at === null || start < at.days.start || start >= at.days.end))
        at = blockAt(start, unit, shortest);
      const { name, days } = at ?? { name: '', days: null };
      const block = blocks.get(name) ?? { days, stamps: [] };
      blocks.set(name, block);
      block.stamps.push(stamp);
    }
    const before = stored.unit === unit ? stored.blocks : new Map<string, StoredBlock<F>>();
    const keep: StoredBlock<F>[] = [];
    const changed: Omit<PlannedBlock, 'content' | 'sums'>[] = [];
    for (const [name, { days, stamps }] of blocks) {
      const [first = ''] = stamps;
      const joined = isTable ? digestOf(stamps) : viewStamp(first, blocks);
      const stamp = stamps.includes('') ? '' : joined;
      const block = before.get(name);
      if (block !== undefined && stamp !== '' && block.stamp === stamp) {
        keep.push(block);
        continue;
      }
      let condition: string | null = null;
      if (days !== null) {
        // The bare column is compared, so that only the blocks of these days are read.
        const column = identifier(dividedBy ?? '');
        const [from, to] = [days.start, days.end].map((bound) => dayLiteral(grain ?? 'day', bound));
        condition = `(${column} >= ${from} and ${column} < ${to})`;
      }
      changed.push({ name, stamp, condition });
    }
    const keyOf = (name: string) => [tableName, unit, name].join('/');
    const unread = changed.filter(({ name }) => !this.#summaries.has(keyOf(name)));
    if (unread.length > 0) {
      // If more than half of the blocks must be read, one pass over all is faster.
      const isPart = unread.length <= blocks.size / 2;
      const conditions = unread.flatMap(({ condition }) => (isPart ? (condition ?? []) : []));
      for (const { name } of unread) this.#summaries.set(keyOf(name), null);
      for (const { start, ...summary } of await this.#summarize(table, unit, conditions)) {
        const name = start === null ? '' : blockAt(start, unit ?? shortest, shortest).name;
        this.#summaries.set(keyOf(name), summary);
      }
    }
    const write: PlannedBlock[] = [];
    for (const block of changed) {
      const summary = this.#summaries.get(keyOf(block.name)) ?? null;
      // The ledger also has periods without rows.
      if (summary === null) continue;
      const same = before.get(block.name);
      if (same?.content === summary.content) keep.push({ ...same, stamp: block.stamp });
      else write.push({ ...block, ...summary });
    }
    return { unit, write, keep };
  }

  /** Reads the blocks that meet one of the conditions, or all if there is none. */
  async #summarize(table: LakeTable, unit: Bucket | null, conditions: readonly string[]) {
    // Equal exactly if the rows are, in any order, with duplicates. A NULL adds nothing, as a missing column. A cell is hashed
    // with the name of its column, for which its value counts.
    const cells = table.columns.map((column) => {
      const hashed = `hash(${literal(column.name)}, ${castCell(column)})::hugeint`;
      return `case when ${identifier(column.name)} is null then 0::hugeint else ${hashed} end`;
    });
    const exact = table.columns.flatMap(({ name, type: text }) => {
      const type = table.metrics.includes(name) ? parseColumnType(text) : null;
      if (type === null || !isExact(type)) return [];
      return [{ name, sum: sumText(exactSum(identifier(name), type), type) }];
    });
    const { dividedBy, grain } = table;
    const column = identifier(dividedBy ?? '');
    const isPeriod = unit === bucketFor(grain ?? 'day');
    const date = isPeriod ? column : `date_trunc('${unit}', ${column})`;
    const sql = `select
    ${unit === null ? 'null' : `cast(${date} as DATE)::varchar`} as start,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${exact.map(({ sum }) => sum).join(', ')}]::varchar[] as sums
from ${await this.#sourceOf(table)}
${conditions.length === 0 ? '' : `where ${conditions.join(' or ')}`}
${unit === null ? '' : 'group by 1'}`;
    return (await this.#session.rows(sql, [], summaryRow)).map(({ start, content, sums }) => {
      const entries = exact.map(({ name }, index) => [name, sums[index] ?? null] as const);
      return { start, content, sums: Object.fromEntries(entries) };
    });
  }
}
