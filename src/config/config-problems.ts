/**
 * What is wrong with a configuration, where, and how it is said: what the schema refuses in words people use.
 *
 * A mistake names a place in the settings; all of them end up, with their places in the file, in one failure.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { nearest } from './nearest.ts';
import { kindOf, type SettingPath, valueAt } from './plain-values.ts';

export type { SettingPath };

/** One thing wrong with a setting. */
export interface Mistake {
  readonly path: SettingPath;
  /** Whether the key itself is wrong or what it is set to. */
  readonly at: 'key' | 'value';
  /** `what is wrong; what is allowed; did you mean …?` */
  readonly text: string;
  /** For a misspelt key, the place it was probably meant for; that nothing stands there is not told besides. */
  readonly meant?: SettingPath;
}

/** One thing wrong with the file, as it is told. */
export interface Problem {
  /** `file:line:column`. */
  readonly place: string;
  /** The setting's dotted name, such as `slices[0].metrics[2]`; empty for the file as a whole. */
  readonly key: string;
  readonly text: string;
}

/** `; did you mean …?`, or nothing when no candidate is near. */
export function suggestion(name: string, candidates: Iterable<string>): string {
  const meant = nearest(name, candidates);
  return meant === null ? '' : `; did you mean ${meant}?`;
}

/** A setting's dotted name: `slices[0].metrics[2]`; keys that are not plain words are quoted, an address, which may be a secret, is not shown. */
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

/** A `CONFIG_INVALID` that lists every problem of a file, one a line. */
export function configInvalid(file: string, problems: readonly Problem[]): Failure {
  const lines = problems.map(({ place, key, text }) => `${place}: ${key === '' ? '' : `${key}: `}${text}`);
  return new Failure('CONFIG_INVALID', lines.join('\n'), {
    facts: { file, problems: lines.length },
    hint: 'Correct every line listed; nothing was requested and nothing was written.',
  });
}

/** A mapping that knows its keys and no others. */
export const block = <Shape extends z.ZodRawShape>(shape: Shape) =>
  // The known keys in place of a message: `unknownKey` words it for each key.
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : undefined),
  });

type Issue = z.core.$ZodIssue;

/** Longer values are cut when they are shown. */
const MAX_SHOWN = 60;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

/**
 * The schema's issues as mistakes, one for every key and value. `isShown` says which values may be repeated in a
 * message; the others may be secrets.
 */
export function schemaMistakes(
  issues: readonly Issue[],
  root: unknown,
  isShown: (path: SettingPath) => boolean,
): Mistake[] {
  return issues.flatMap(narrowed).flatMap((issue): Mistake[] => {
    const path = pathOf(issue);
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key, issue.message));
    if (issue.code === 'invalid_key') return [{ path, at: 'key', text: issue.issues[0]?.message ?? issue.message }];
    return [{ path, at: 'value', text: textOf(issue, valueAt(root, path), isShown(path)) }];
  });
}

function unknownKey(path: SettingPath, key: string, known: string): Mistake {
  const near = nearest(key, known.split(', '));
  const text = `is not a known key; allowed: ${known}${near === null ? '' : `; did you mean ${near}?`}`;
  return { path: [...path, key], at: 'key', text, meant: [...path, near ?? key] };
}

/** An issue with a choice of forms as the issues of the form that was meant; any other as it is. */
function narrowed(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const fitting = issue.errors.filter((branch) =>
    branch.every(({ path, code }) => path.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value')),
  );
  const [meant] = fitting.toReversed().sort((one, other) => unknownKeys(one) - unknownKeys(other));
  if (meant === undefined) return [issue];
  return meant.flatMap((inner) => narrowed({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** Of the form itself: a wrong key further down says nothing of which form was meant. */
const unknownKeys = (branch: readonly Issue[]): number =>
  branch.reduce((count, issue) => {
    return count + (issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys.length : 0);
  }, 0);

/** Keys and indexes; a schema of YAML values has no symbols. */
export function pathOf(issue: Issue): SettingPath {
  return issue.path.filter((step) => typeof step !== 'symbol');
}

function textOf(issue: Issue, value: unknown, isShown: boolean): string {
  const isScalar = value !== undefined && typeof value !== 'object';
  const shown = isShown && isScalar ? JSON.stringify(value) : 'the value';
  const subject = shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
  const isUnset = value === undefined;
  if (issue.code === 'invalid_type') {
    const isOwn = issue.message.startsWith('must be');
    const wanted = isOwn ? issue.message : `must be ${kinds[issue.expected] ?? issue.expected}`;
    const isUnquoted = issue.expected === 'string' && (typeof value === 'number' || typeof value === 'boolean');
    if (isUnset) return `is missing; ${wanted}`;
    return `is ${kindOf(value)}; ${wanted}${isUnquoted && !isOwn ? ', so put it in quotes' : ''}`;
  }
  if (issue.code === 'invalid_union') {
    if (typeof value !== 'string') return `is ${isUnset ? 'missing' : kindOf(value)}; ${issue.message}`;
    return `${subject} is not allowed; ${issue.message}${suggestion(value, namesOf(issue))}`;
  }
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    const near = typeof value === 'string' ? suggestion(value, allowed) : '';
    const wrong = isUnset ? 'is missing' : `${subject} is not allowed`;
    return `${wrong}; must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}${near}`;
  }
  if (issue.code === 'too_small' && issue.origin === 'array') return 'is an empty list; must hold at least one item';
  if (issue.code === 'too_small') return `${subject} is too small; must be at least ${String(issue.minimum)}`;
  if (issue.code === 'too_big') return `${subject} is too large; must be at most ${String(issue.maximum)}`;
  return `${subject} ${issue.message}`;
}

/** The names a choice of forms would have accepted. */
const namesOf = (issue: z.core.$ZodIssueInvalidUnion): string[] =>
  issue.errors.flat().flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map(String) : []));
