/** What the schema has against a file's values, said in words people use. */

import { z } from 'zod';

import { type Finding, type SettingPath, suggestion } from './config-problems.ts';
import { nearest } from './nearest.ts';
import { kindOf, valueAt } from './plain-values.ts';

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
 * The schema's issues as findings, one for every key and value. `isShown` says which values may be repeated in a
 * message; the others may be secrets.
 */
export function schemaFindings(
  issues: readonly Issue[],
  schema: z.core.$ZodType,
  root: unknown,
  isShown: (path: SettingPath) => boolean,
): Finding[] {
  return issues.flatMap(narrowed).flatMap((issue): Finding[] => {
    const path = pathOf(issue);
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys(schema, path);
      return issue.keys.map((key) => ({
        path: [...path, key],
        at: 'key',
        text: `is not a known key; allowed: ${known.join(', ')}${suggestion(key, known)}`,
        meant: [...path, nearest(key, known) ?? key],
      }));
    }
    if (issue.code === 'invalid_key') return [{ path, at: 'key', text: issue.issues[0]?.message ?? issue.message }];
    return [{ path, at: 'value', text: textOf(issue, valueAt(root, path), isShown(path)) }];
  });
}

/** The keys and values that issues of the schema are about. */
export function schemaPlaces(issues: readonly Issue[]): SettingPath[] {
  return issues.flatMap(narrowed).flatMap((issue) => {
    const path = pathOf(issue);
    return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  });
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

const unknownKeys = (branch: readonly Issue[]): number =>
  branch.reduce((count, issue) => count + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0), 0);

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
    const advice = isOwn ? '' : quoteAdvice(issue.expected, value);
    if (isUnset) return `is missing; ${wanted}`;
    return value === null ? `is empty; ${wanted}` : `is ${kindOf(value)}; ${wanted}${advice}`;
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

const quoteAdvice = (expected: string, value: unknown): string =>
  expected === 'string' && (typeof value === 'number' || typeof value === 'boolean') ? ', so put it in quotes' : '';

/** The names a choice of forms would have accepted. */
const namesOf = (issue: z.core.$ZodIssueInvalidUnion): string[] =>
  issue.errors.flat().flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map(String) : []));

/** The keys known at a place, in declared order; of alternatives all. Empty where any key is allowed, or none. */
function knownKeys(schema: z.core.$ZodType, path: SettingPath): string[] {
  const mappings = path.reduce<z.core.$ZodType[]>(
    (schemas, step) => schemas.flatMap((at) => childrenOf(at, step)),
    [...alternativesOf(schema)],
  );
  return [...new Set(mappings.flatMap((at) => (at instanceof z.ZodObject ? Object.keys(at.shape) : [])))];
}

function childrenOf(schema: z.core.$ZodType, step: string | number): z.core.$ZodType[] {
  if (schema instanceof z.ZodArray) return alternativesOf(schema.element);
  if (schema instanceof z.ZodRecord) return alternativesOf(schema.valueType);
  if (!(schema instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const child = Object.hasOwn(shape, step) ? shape[step] : undefined;
  return child === undefined ? [] : alternativesOf(child);
}

/** The schemas a value may match once defaults and options are unwrapped. */
function alternativesOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return alternativesOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return alternativesOf(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(alternativesOf);
  return [schema];
}
