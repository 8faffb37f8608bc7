/** Law i of nights: what is published, in whatever kind of copy, is what is held. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { RunNight } from './laws.ts';
import type { CopyKind } from './sequence.ts';
import { differencesOf, readFiles, readPublished, readShown } from './stored.ts';

/** Where nights are published. */
export interface Copies {
  readonly directory: string;
  readonly publishes: readonly CopyKind[];
}

export const copyIn = (kind: CopyKind): string => (kind === 'duckdb' ? 'copy.duckdb' : `lake.${kind}`);

const databaseOf = (copy: string, kind: CopyKind): string => (kind === 'delta' ? join(copy, 'catalog.duckdb') : copy);

/** What the copies have otherwise of a slice after a run. */
export async function sliceDifferences({ directory, publishes }: Copies, run: RunNight): Promise<string[]> {
  if (run.stored.columns.size === 0 || run.summary.status === 'interrupted') return [];
  const broken: string[] = [];
  for (const kind of publishes) {
    const copy = join(directory, copyIn(kind));
    // A replay of nothing takes the place of no copy.
    if (run.stored.periods.length > 0 || existsSync(copy)) broken.push(...(await differencesOfCopy(copy, kind, run)));
  }
  return broken;
}

async function differencesOfCopy(
  copy: string,
  kind: CopyKind,
  { slice: { name }, stored }: RunNight,
): Promise<string[]> {
  const { columns, rows, finalRows } = stored;
  const isPlain = kind === 'parquet';
  const shown = isPlain ? await readFiles(copy, name) : await readPublished(databaseOf(copy, kind), name);
  const absent =
    rows.length === 0
      ? []
      : [...columns.keys()].filter((column) => column !== '_load_id' && !shown.columns.has(column));
  return [
    ...(absent.length === 0 ? [] : [`has no columns ${absent.join(', ')}`]),
    ...differencesOf({ columns, rows, finalRows: isPlain ? [] : finalRows }, shown),
  ].map((text) => `${kind} ${text}`);
}

export interface Shown {
  /** Whether nothing was ever loaded: then no copy has to be there. */
  readonly mayBeAbsent: boolean;
  /** A slice that was dropped with all it had. */
  readonly gone: string | null;
}

/** What the copies have otherwise of everything that analysts query. */
export async function shownDifferences(
  { directory, publishes }: Copies,
  { mayBeAbsent, gone }: Shown,
): Promise<string[]> {
  const broken: string[] = [];
  for (const kind of publishes) {
    const copy = join(directory, copyIn(kind));
    if (mayBeAbsent && !existsSync(copy)) continue;
    // A catalog of Delta tables has views over them and over final cells, plain files have neither.
    const here = await readShown(join(directory, 'warehouse.duckdb'), { withViews: kind === 'duckdb' });
    const there = kind === 'parquet' ? null : await readShown(databaseOf(copy, kind), { withViews: true });
    for (const [name, relation] of here) {
      const shown = there === null ? await readFiles(copy, name) : there.get(name);
      const texts = shown === undefined ? [`has no ${name}`] : differencesOf(relation, shown);
      broken.push(...texts.map((text) => `${kind} ${name} ${text}`));
    }
    const others = kind === 'duckdb' ? [...(there?.keys() ?? [])].filter((name) => !here.has(name)) : [];
    const isLeft = gone !== null && (there === null ? (await readFiles(copy, gone)).columns.size > 0 : there.has(gone));
    broken.push(...[...others, ...(isLeft ? [gone] : [])].map((name) => `${kind} has ${name} still`));
  }
  return broken;
}
