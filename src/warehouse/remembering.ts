/** Readings of the warehouse that are kept for as long as nothing in it can have changed. */

import type { Warehouse } from './warehouse.ts';

interface Kept<T> {
  readonly changes: number;
  readonly values: Map<string, T>;
  /** What is about to be read together. */
  pending: { readonly keys: Set<string>; readonly read: Promise<ReadonlyMap<string, T>> } | null;
}

/**
 * The same reading, by its key, made once between two changes: nobody hands it on or has to know when it is out of date. Keys that are asked
 * for at once are read together. The values are shared, so they must not be altered. Rows change nothing `of` relations.
 */
export function rememberingEach<T>(
  readSome: (warehouse: Warehouse, keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse, key: string) => Promise<T> {
  const known = new WeakMap<Warehouse, Kept<T>>();
  return async (warehouse, key) => {
    const changes = warehouse.changes(of);
    const before = known.get(warehouse);
    const kept: Kept<T> = before?.changes === changes ? before : { changes, values: new Map(), pending: null };
    known.set(warehouse, kept);
    const found = kept.values.get(key);
    if (found !== undefined) return found;
    if (kept.pending === null) {
      const keys = new Set<string>();
      const read = Promise.resolve().then(async () => {
        kept.pending = null;
        return readSome(warehouse, [...keys]);
      });
      kept.pending = { keys, read };
    }
    kept.pending.keys.add(key);
    const value = (await kept.pending.read).get(key);
    if (value === undefined) throw new RangeError(`Nothing was read of ${key}.`);
    // What was changed meanwhile may or may not be in it.
    if (warehouse.changes(of) === changes) kept.values.set(key, value);
    return value;
  };
}

/** The same of readings that have nothing to share, or of a single one, which needs no key. */
export function remembering<T>(
  read: (warehouse: Warehouse, key: string) => Promise<T>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse, key?: string) => Promise<T> {
  const readEach = rememberingEach(
    async (warehouse, keys) =>
      new Map(await Promise.all(keys.map(async (key) => [key, await read(warehouse, key)] as const))),
    of,
  );
  return async (warehouse, key = '') => readEach(warehouse, key);
}
