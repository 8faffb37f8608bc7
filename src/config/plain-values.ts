/** Questions to a value of unknown shape, as it was read from the file, and to the place of one. */

/** Keys and list indexes from the root of the settings. */
export type SettingPath = readonly (string | number)[];

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

/** A copy of a value with another one at a place that exists. */
export function replaced(value: unknown, [step, ...rest]: SettingPath, by: unknown): unknown {
  if (step === undefined) return by;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return items.map((item, index) => (index === step ? replaced(item, rest, by) : item));
  }
  return isMapping(value) ? { ...value, [step]: replaced(value[step], rest, by) } : value;
}

/** The items of a list; none when it is no list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Whether one place lies at or below another. */
export function isWithin(path: SettingPath, outer: SettingPath): boolean {
  return outer.every((step, index) => path[index] === step);
}

/** A place as a key of a map. */
export const placeName = (path: SettingPath): string => JSON.stringify(path);

/** How people call what a value is. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'a number' : 'a truth value';
}
