/** The settings as they stand in the file, for whoever has something to say of one of them later. */

import type { Finding, SettingPath } from './config-problems.ts';
import { isWithin, valueAt } from './plain-values.ts';

export interface StatedSettings {
  /** What the file says at a place, variables filled; undefined where it says nothing. */
  valueAt(path: SettingPath): unknown;
  /** `file:line:column` of a setting, or of where it would be; null without a file. */
  placeOf(path: SettingPath, at: Finding['at']): string | null;
  /** Whether a setting, or one it is a part of, is wrong by itself. */
  isWrong(path: SettingPath): boolean;
  /** Whether it is not wrong, nor anything in it. */
  isSound(path: SettingPath): boolean;
}

/** Settings that come from no file. */
export const unplacedSettings: StatedSettings = {
  valueAt: () => undefined,
  placeOf: () => null,
  isWrong: () => false,
  isSound: () => true,
};

/** The settings of a file, of which some places are wrong; `originOf` leads from a slice to the defaults it takes over. */
export function statedSettings(
  root: unknown,
  wrong: readonly SettingPath[],
  originOf: (path: SettingPath) => SettingPath,
  placeOf: (path: SettingPath, at: Finding['at']) => string,
): StatedSettings {
  const isWrong = (path: SettingPath): boolean => wrong.some((place) => isWithin(originOf(path), place));
  return {
    valueAt: (path) => valueAt(root, path),
    placeOf: (path, at) => placeOf(originOf(path), at),
    isWrong,
    isSound: (path) => !isWrong(path) && !wrong.some((place) => isWithin(place, originOf(path))),
  };
}
