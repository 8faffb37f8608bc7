/** Caches what is read from the warehouse until something in it may have changed. */

import type { Warehouse } from './warehouse.ts';

interface Kept<T> {
  readonly changes: number;
  readonly values: Map<string, T>;
  pending: { readonly keys: Set<string>; readonly read: Promise<ReadonlyMap<string, T>> } | null;
}

/**
 * Caches what `readSome` returns until the warehouse changes, or only its relations. Concurrent calls become one read. Callers
 * share the values and must not alter them.
 */
export function rememberingEach<T>(
  readSome: (warehouse: Warehouse, keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse, key: string) => Promise<T> {
  const known = new WeakMap<Warehouse, Kept<T>>();
  return async (warehouse, key) => {
    const changes = warehouse.changes(of);
    const before = known.get(warehouse);
    const kept: Kept<T> =
      before?.changes === changes ? before : { changes, values: new Map(), pending: null };
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
    // A change in the meantime may or may not be in the value.
    if (warehouse.changes(of) === changes) kept.values.set(key, value);
    return value;
  };
}

/** As `rememberingEach`, for a value without a key. */
export function remembering<T>(
  read: (warehouse: Warehouse) => Promise<T>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse) => Promise<T> {
  const readEach = rememberingEach(async (warehouse) => new Map([['', await read(warehouse)]]), of);
  return async (warehouse) => readEach(warehouse, '');
}
