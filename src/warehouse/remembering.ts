/** Readings of the warehouse that are kept for as long as nothing in it can have changed. */

import type { Warehouse } from './warehouse.ts';

interface Kept<T> {
  readonly changes: number;
  readonly values: Map<string, T>;
}

/**
 * The same reading, by its key, made once between two changes: whoever needs it asks for it, and nobody hands it on or
 * has to know when it is out of date. The values are shared, so they must not be altered. A reading `of` relations is not
 * made again because of rows.
 */
export function remembering<T>(
  read: (warehouse: Warehouse, key: string) => Promise<T>,
  of: 'anything' | 'relations' = 'anything',
): (warehouse: Warehouse, key: string) => Promise<T> {
  const known = new WeakMap<Warehouse, Kept<T>>();
  return async (warehouse, key) => {
    const changes = warehouse.changes(of);
    const before = known.get(warehouse);
    const kept = before?.changes === changes ? before : { changes, values: new Map<string, T>() };
    known.set(warehouse, kept);
    const found = kept.values.get(key);
    if (found !== undefined) return found;
    const value = await read(warehouse, key);
    // What was changed meanwhile may or may not be in it.
    if (warehouse.changes(of) === changes) kept.values.set(key, value);
    return value;
  };
}
