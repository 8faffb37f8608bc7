/** Questions to a value of unknown shape, as it was read from the file. */

import type { SettingPath } from './config-problems.ts';

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a path leads to; undefined when it leads nowhere. */
export function valueAt(root: unknown, path: SettingPath): unknown {
  let value = root;
  for (const step of path) {
    if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      value = typeof step === 'number' ? items[step] : undefined;
    } else {
      value = isMapping(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    }
  }
  return value;
}

/** The items of a list; none when it is no list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** How people call what a value is. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'a number' : 'a truth value';
}
