/** Caches what is read from the warehouse until something in it may have changed. */

import type { Warehouse } from './warehouse.ts';

interface Cache<T> {
  readonly changes: number;
  readonly values: Map<string, T>;
  pending: { readonly keys: Set<string>; readonly read: Promise<ReadonlyMap<string, T>> } | null;
}

/** Keys of one statement. The JSON of more would fill the memory. */
const MAX_KEYS = 60;

/**
 * Caches values until the warehouse, or only its relations, change. Calls that are awaited together are read together. Callers
 * must not alter the values.
 */
export function cachedReads<T>(
  readSome: (warehouse: Warehouse, keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse, key: string) => Promise<T> {
  const caches = new WeakMap<Warehouse, Cache<T>>();
  return async (warehouse, key) => {
    const changes = warehouse.changes(of);
    let cache = caches.get(warehouse);
    if (cache?.changes !== changes) cache = { changes, values: new Map(), pending: null };
    caches.set(warehouse, cache);
    const { values } = cache;
    const cached = values.get(key);
    if (cached !== undefined) return cached;
    if (cache.pending === null) {
      const current = cache;
      const keys = new Set<string>();
      const read = Promise.resolve().then(async () => {
        current.pending = null;
        const entries: [key: string, value: T][] = [];
        for (let from = 0; from < keys.size; from += MAX_KEYS)
          entries.push(...(await readSome(warehouse, [...keys].slice(from, from + MAX_KEYS))));
        return new Map(entries);
      });
      cache.pending = { keys, read };
    }
    cache.pending.keys.add(key);
    const value = (await cache.pending.read).get(key);
    if (value === undefined) throw new RangeError(`Nothing was read of ${key}.`);
    // A change in the meantime may or may not be in the value.
    if (warehouse.changes(of) === changes) values.set(key, value);
    return value;
  };
}

/** As `cachedReads`, for a value without a key. */
export function cachedRead<T>(
  read: (warehouse: Warehouse) => Promise<T>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse) => Promise<T> {
  const readEach = cachedReads(async (warehouse) => new Map([['', await read(warehouse)]]), of);
  return async (warehouse) => readEach(warehouse, '');
}
