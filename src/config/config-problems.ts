/**
 * What is wrong with a configuration, where, and how it is said.
 *
 * A finding names a place in the settings; a problem names a place in the file. All of them end up in one failure.
 */

import { Failure } from '../errors.ts';
import { nearest } from './nearest.ts';

/** Keys and list indexes from the root of the settings. */
export type SettingPath = readonly (string | number)[];

/** One thing wrong with a setting, before its position in the file is known. */
export interface Finding {
  readonly path: SettingPath;
  /** Whether the key itself is wrong or what it is set to. */
  readonly at: 'key' | 'value';
  /** `what is wrong; what is allowed; did you mean …?` */
  readonly text: string;
  /** For a misspelt key, the place it was probably meant for; that nothing stands there is not told besides. */
  readonly meant?: SettingPath;
}

/** One thing wrong with the file; line and column count from 1. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** The setting's dotted name, such as `slices[0].metrics[2]`; empty for the file as a whole. */
  readonly key: string;
  readonly text: string;
}

/** `; did you mean …?`, or nothing when no candidate is near. */
export function suggestion(name: string, candidates: Iterable<string>): string {
  const meant = nearest(name, candidates);
  return meant === null ? '' : `; did you mean ${meant}?`;
}

/** A setting's dotted name: `slices[0].metrics[2]`; keys that are not plain words are quoted, an address, which may be a secret, is not told. */
export function settingName(path: SettingPath): string {
  return path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`;
      if (step.includes('://')) return '.(an address)';
      return /^[\w*-]+$/.test(step) ? `.${step}` : `.${JSON.stringify(step)}`;
    })
    .join('')
    .replace(/^\./, '');
}

/** Problems by position. */
export function byPosition(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((one, other) => one.line - other.line || one.column - other.column);
}

/** A `CONFIG_INVALID` that lists every problem of a file, one a line, sorted by position; repeats are said once. */
export function configInvalid(file: string, problems: readonly Problem[]): Failure {
  const lines = new Set(
    byPosition(problems).map(
      ({ line, column, key, text }) => `${file}:${line}:${column}: ${key === '' ? '' : `${key}: `}${text}`,
    ),
  );
  return new Failure('CONFIG_INVALID', [...lines].join('\n'), {
    facts: { file, problems: lines.size },
    hint: 'Correct every line listed; nothing was requested and nothing was written.',
  });
}
