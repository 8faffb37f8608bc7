/** The settings as they stand in the file, for whoever has something to say of one of them later. */

import type { Finding, SettingPath } from './config-problems.ts';
import { valueAt } from './plain-values.ts';
import type { SettingsText } from './settings-text.ts';
import { isWithin } from './settings-text.ts';

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

/** The settings of a file, of which some places are wrong. */
export function statedSettings(read: SettingsText, file: string, wrong: readonly SettingPath[]): StatedSettings {
  const isWrong = (path: SettingPath): boolean => wrong.some((place) => isWithin(path, place));
  return {
    valueAt: (path) => valueAt(read.value, path),
    placeOf: (path, at) => {
      const { line, column } = read.locate({ path, at, text: '' });
      return `${file}:${line}:${column}`;
    },
    isWrong,
    isSound: (path) => !isWrong(path) && !wrong.some((place) => isWithin(place, path)),
  };
}
