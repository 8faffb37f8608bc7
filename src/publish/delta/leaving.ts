/**
 * Tables that a night no longer has: dropped with their slice, or left as they were when it was taken out of the configuration.
 *
 * `ripen_finality` lists every table and since when it is away, so that no others need be looked through. Once older
 * versions are no longer kept, what only those read goes, and a table that was emptied goes as a whole.
 */

import * as z from 'zod';

import type { SliceFiles } from '../lake-store.ts';
import { FINALITY, linksOf } from '../lake-table.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { identityOf, ownerOf } from '../identity.ts';
import type { Database } from '../other-database.ts';
import { readTable, type Standing } from './commit.ts';
import { OWNER, SLICE, TABLES } from './delta-table.ts';
import { LOG, understood, type Add, type Table } from './log.ts';
import type { DeltaStore } from './delta-store.ts';
import { openTables, type DeltaTarget } from './store.ts';
import { removeTable, surplusOf, sweep } from './sweep.ts';

/** Since when each table is away, in milliseconds since 1970; 0 for one that is there. */
type Listed = ReadonlyMap<string, number>;

/** A table as it stands, and what is dropped of it. */
interface Dropped {
  readonly standing: Standing;
  readonly gone: readonly Add[];
}

const listing = z.record(z.string(), z.number());

/** The tables of the last whole night, as `ripen_finality` lists them. */
function listedIn(table: Table | null): Listed {
  const text = table?.metaData.configuration[TABLES] ?? '{}';
  const listed = understood(`${FINALITY}/${LOG}`, () => listing.parse(JSON.parse(text)));
  return new Map(Object.entries(listed));
}

/** How many files of a target's newest versions a drop of a slice, or of its oldest periods, takes. */
export async function filesInTables(
  target: DeltaTarget,
  warehouse: Warehouse,
  files: SliceFiles,
  signal: AbortSignal,
): Promise<number> {
  const store = await openTables(target, `${warehouse.path}.drafts`, signal);
  try {
    const found = await tablesOfSlice(store, warehouse, files, ownerOf(await identityOf(warehouse)));
    return found.reduce((sum, { gone }) => sum + gone.length, 0);
  } finally {
    await store.close();
  }
}

/** The tables of one warehouse that hold a slice, and which of their files a drop of it, or of its oldest periods, takes. */
async function tablesOfSlice(
  store: DeltaStore,
  database: Database,
  { slice, before }: SliceFiles,
  owner: string,
): Promise<Dropped[]> {
  const found: Dropped[] = [];
  for (const name of [slice, linksOf(slice)]) {
    const standing = await readTable(store, database, name);
    const { table } = standing;
    if (table?.metaData.configuration[SLICE] !== slice || table.metaData.configuration[OWNER] !== owner) continue;
    const [key = ''] = table.metaData.partitionColumns;
    const isGone = ({ partitionValues }: Add): boolean => before === null || (partitionValues[key] ?? before) < before;
    found.push({ standing, gone: [...table.files.values()].filter(isGone) });
  }
  return found;
}

/** What of a target is no longer part of a night. */
export interface Left {
  /** What is dropped tonight. */
  readonly dropped: readonly Dropped[];
  /** Tables that have been away for so long that no version of theirs from before is kept. */
  readonly away: readonly Standing[];
  /** Every table there is, and those that are away for as long as something of theirs is to be removed. */
  readonly listed: Listed;
}

interface Tonight {
  /** The tables of the night. */
  readonly standings: readonly Standing[];
  readonly dropping: SliceFiles | undefined;
  readonly owner: string;
  readonly nowMs: number;
  readonly keptSinceMs: number;
}

/** Finds what left, or leaves tonight; removes nothing. */
export async function findLeft(
  store: DeltaStore,
  database: Database,
  { standings, dropping, owner, nowMs, keptSinceMs }: Tonight,
): Promise<Left> {
  const finality = standings.find(({ name }) => name === FINALITY);
  const isAway = (name: string): boolean => standings.every((standing) => standing.name !== name);
  const found = dropping === undefined ? [] : await tablesOfSlice(store, database, dropping, owner);
  const dropped = found.filter(({ standing }) => isAway(standing.name));
  const away: Standing[] = [];
  const since = new Map<string, number>();
  for (const [name, awaySinceMs] of listedIn(finality?.table ?? null)) {
    if (!isAway(name)) continue;
    if (awaySinceMs === 0 || awaySinceMs > keptSinceMs) {
      since.set(name, awaySinceMs === 0 ? nowMs : awaySinceMs);
      continue;
    }
    const standing = await readTable(store, database, name);
    const { table } = standing;
    const isOwn = table === null || table.metaData.configuration[OWNER] === owner;
    const isEmpty = table === null || table.files.size === 0;
    if (!isOwn || (!isEmpty && surplusOf(standing, table, keptSinceMs).length === 0)) continue;
    // Of one without a log only empty folders can be left, and go tonight.
    if (table !== null) since.set(name, awaySinceMs);
    away.push(standing);
  }
  for (const { standing, gone } of dropped) {
    if (gone.length > 0 || !since.has(standing.name)) since.set(standing.name, nowMs);
  }
  for (const { name } of standings) since.set(name, 0);
  return { dropped, away, listed: new Map([...since].sort(([one], [other]) => (one < other ? -1 : 1))) };
}

/** Removes what nobody needs any more of tables that are away. */
export async function sweepAway(
  store: DeltaStore,
  database: Database,
  away: readonly Standing[],
  keptSinceMs: number,
): Promise<void> {
  for (const standing of away) {
    const { name, table } = standing;
    if (table === null || table.files.size === 0) await removeTable(store, database, standing);
    else await sweep(store, name, surplusOf(standing, table, keptSinceMs));
  }
}
