/** Turns what the schema finds wrong into plain sentences, and reads values of unknown shape. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { isRecord } from '../model/canonical-json.ts';
import { nearest } from './nearest.ts';

export type SettingPath = readonly (string | number)[];

export interface Mistake {
  readonly path: SettingPath;
  readonly at: 'key' | 'value';
  /** `what is wrong; what is allowed; did you mean …?` */
  readonly text: string;
  readonly meant?: SettingPath;
}

export interface Problem {
  /** `file:line:column`. */
  readonly place: string;
  readonly key: string;
  readonly text: string;
}

export function configInvalid(file: string, problems: readonly Problem[]): Failure {
  const lines = problems.map(({ place, key, text }) =>
    [place, key, text].filter((part) => part !== '').join(': '),
  );
  return new Failure('CONFIG_INVALID', lines.join('\n'), {
    facts: { file, problems: lines.length },
    hint: 'Correct every line listed; nothing was requested and nothing was written.',
  });
}

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export function valueAt(root: unknown, path: SettingPath): unknown {
  return path.reduce((value: unknown, step): unknown => {
    if (typeof step === 'number') return itemsOf(value)[step];
    return isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }, root);
}

export const isWithin = (path: SettingPath, outer: SettingPath): boolean =>
  outer.every((step, index) => path[index] === step);

export const placeName = (path: SettingPath): string => JSON.stringify(path);

/** Returns a dotted name, such as `slices[0].metrics[2]`. Hides an address, which may be a secret. */
export function settingName(path: SettingPath): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    if (step.includes('://')) return '.(an address)';
    return /^[\w*-]+$/.test(step) ? `.${step}` : `.${JSON.stringify(step)}`;
  });
  return steps.join('').replace(/^\./, '');
}

export function suggestion(name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates);
  return near === null ? '' : `; did you mean ${near}?`;
}

export const block = <Shape extends z.ZodRawShape>(shape: Shape) =>
  // Returns the known keys instead of a message: `schemaMistakes` makes a message from them for each unknown key.
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : undefined),
  });

type Issue = z.core.$ZodIssue;

/** Shows a value only if `isShown`, as others may be secret. */
export function schemaMistakes(
  issues: readonly Issue[],
  root: unknown,
  isShown: (path: SettingPath) => boolean,
): Mistake[] {
  return issues.flatMap(branchIssues).flatMap((issue): Mistake[] => {
    const path = pathOf(issue);
    if (issue.code === 'unrecognized_keys') {
      const names = issue.message.split(', ');
      return issue.keys.map((key): Mistake => {
        const text = `is not a known key; allowed: ${issue.message}${suggestion(key, names)}`;
        const meant = [...path, nearest(key, names) ?? key];
        return { path: [...path, key], at: 'key', text, meant };
      });
    }
    if (issue.code === 'invalid_key')
      return [{ path, at: 'key', text: issue.issues[0]?.message ?? issue.message }];
    return [{ path, at: 'value', text: textOf(issue, valueAt(root, path), isShown(path)) }];
  });
}

/** A schema of YAML values has no symbols in it. */
export const pathOf = (issue: Issue): SettingPath =>
  issue.path.filter((step) => typeof step !== 'symbol');

/** Replaces an issue of a union by those of the form that was meant, if one fits best. */
function branchIssues(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isOfOtherKind = ({ path, code }: Issue) =>
    path.length === 0 && /^invalid_(?:type|value|union)$/.test(code);
  const [best, second] = issue.errors
    .filter((branch) => !branch.some(isOfOtherKind))
    .map((branch) => {
      let keys = 0;
      // A wrong key further down does not show which form was meant.
      for (const { path, ...inner } of branch) {
        if (inner.code === 'unrecognized_keys' && path.length === 0) keys += inner.keys.length;
        const isMissing = inner.code === 'invalid_type' && inner.input === undefined;
        if (isMissing && path.length === 1) keys += 1;
      }
      return { branch, keys };
    })
    .sort((one, next) => one.keys - next.keys);
  if (best === undefined || (best.keys > 0 && best.keys === second?.keys)) return [issue];
  return best.branch.flatMap((inner) =>
    branchIssues({ ...inner, path: [...issue.path, ...inner.path] }),
  );
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'a truth value',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

const MAX_SHOWN = 60;

function textOf(issue: Issue, value: unknown, isShown: boolean) {
  const isUnset = value === undefined;
  const isPlain = isShown && !isUnset && typeof value !== 'object';
  const shown = isPlain ? JSON.stringify(value) : 'the value';
  const subject = shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
  let kind = `is ${kinds[Array.isArray(value) ? 'array' : typeof value]}`;
  if (value === null) kind = 'is empty';
  else if (isUnset) kind = 'is missing';
  const notAllowed = isUnset ? kind : `${subject} is not allowed`;
  const nearestOf = (names: readonly unknown[]) =>
    typeof value === 'string' ? suggestion(value, names.map(String)) : '';
  if (issue.code === 'invalid_type') {
    if (issue.message.startsWith('must be')) return `${kind}; ${issue.message}`;
    const isUnquoted = issue.expected === 'string' && /^(?:number|boolean)$/.test(typeof value);
    const type = issue.expected === 'boolean' ? 'true or false' : kinds[issue.expected];
    return `${kind}; must be ${type ?? issue.expected}${isUnquoted ? ', so put it in quotes' : ''}`;
  }
  if (issue.code === 'invalid_union') {
    if (typeof value !== 'string') return `${kind}; ${issue.message}`;
    const names = issue.errors
      .flat()
      .flatMap((inner) => (inner.code === 'invalid_value' ? inner.values : []));
    return `${notAllowed}; ${issue.message}${nearestOf(names)}`;
  }
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    const one = allowed.length === 1 ? '' : 'one of ';
    return `${notAllowed}; must be ${one}${allowed.join(', ')}${nearestOf(allowed)}`;
  }
  if (issue.code === 'too_small')
    return issue.origin === 'array'
      ? 'is an empty list; must hold at least one item'
      : `${subject} is too small; must be at least ${String(issue.minimum)}`;
  if (issue.code === 'too_big')
    return `${subject} is too large; must be at most ${String(issue.maximum)}`;
  return `${subject} ${issue.message}`;
}
