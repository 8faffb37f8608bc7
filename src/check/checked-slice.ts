/** A slice as `check` looks at it: what it became, and where each of its settings stands. */

import type { SettingPath } from '../config/config-problems.ts';
import type { StatedSettings } from '../config/stated-settings.ts';
import type { Slice } from '../model/slice.ts';

export interface CheckedSlice {
  readonly slice: Slice;
  /** Its place in the list of slices. */
  readonly index: number;
  readonly stated: StatedSettings;
}

/** Where the slice stands. */
export const pathOf = ({ index }: CheckedSlice): SettingPath => ['slices', index];

/**
 * Where a parameter, filter or other setting is stated, in the slice or in the defaults; with `item`, which item of a
 * list. The slice itself for a setting that stands nowhere.
 */
export function settingPath(checked: CheckedSlice, key: string, item?: string): SettingPath {
  const levels: SettingPath[] = [pathOf(checked), ['defaults']];
  const paths = levels.flatMap((level) => [
    [...level, key],
    [...level, 'filters', key],
    [...level, 'extra_parameters', key],
  ]);
  const path = paths.find((each) => checked.stated.valueAt(each) !== undefined);
  if (path === undefined) return pathOf(checked);
  const value = checked.stated.valueAt(path);
  if (item === undefined || !Array.isArray(value)) return path;
  const items: readonly unknown[] = value;
  const position = items.findIndex((each) => String(each) === item);
  return position === -1 ? path : [...path, position];
}
