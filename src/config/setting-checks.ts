/** Finds contradictions between valid settings, in the values as read: a slice with one wrong key is checked too. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { systemText } from '../errors.ts';
import { isRecord } from '../model/canonical-json.ts';
import { agesIn, cubeColumns, cubeMetrics } from '../model/cube.ts';
import { isDateDimension, parseFilterKey } from '../model/dimension.ts';
import { globMatches } from '../model/metric.ts';
import { itemsOf, type Mistake, type SettingPath, suggestion, valueAt } from './config-problems.ts';
import { nearest } from './nearest.ts';
import type { Environment } from './settings-text.ts';

type Mapping = Readonly<Record<string, unknown>>;
type Refuse = (path: SettingPath, text: string, at?: Mistake['at']) => void;

const mappingOf = (value: unknown) => (isRecord(value) ? value : {});
const textsOf = (list: unknown) => itemsOf(list).filter((item) => typeof item === 'string');

/** Views that ripen names after a slice. A slice with such a name would replace one. */
const derivedEndings = ['_cohorts', '_links', '_maturation', '_projected'] as const;

export function settingMistakes(
  stated: unknown,
  root: unknown,
  environment: Environment,
): Mistake[] {
  const mistakes: Mistake[] = [];
  const refuse: Refuse = (path, text, at = 'value') => mistakes.push({ path, at, text });
  const { service, audits, slices: list } = mappingOf(root);
  // With this variable Node accepts any certificate, so the token could go to any server that answers.
  if (isRecord(root) && environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    const text = 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the checking of certificates';
    const remedy = 'unset it, and name your own certificate authority in service.ca_file';
    refuse(['service'], `${text}; ${remedy}`, 'key');
  }
  if (isRecord(service) && !('simulator' in service)) {
    const [first, second] = ['token', 'token_file'].filter((key) => key in service);
    if (second !== undefined)
      refuse(['service', second], 'cannot be used with token; remove one of them', 'key');
    if (first === undefined)
      refuse(['service', 'token'], 'is missing; set it, or token_file', 'key');
  }
  for (const key of ['headers', 'cost_headers']) {
    const headers = Object.keys(mappingOf(mappingOf(service)[key]));
    refuseRepeats(refuse, headers, (index) => ['service', key, headers[index] ?? ''], 'a header');
  }
  const questions = itemsOf(audits).map((audit) => mappingOf(audit)['name']);
  refuseRepeats(refuse, questions, (index) => ['audits', index, 'name'], 'the name of an audit');
  const slices = itemsOf(list).map(mappingOf);
  const names = slices.map(({ name }) => name);
  refuseRepeats(refuse, names, (index) => ['slices', index, 'name'], 'a slice name');
  for (const [index, slice] of slices.entries()) {
    const path = ['slices', index];
    for (const origin of names.map(String)) {
      if (!derivedEndings.some((ending) => `${origin}${ending}` === slice['name'])) continue;
      const text = `is a name ripen derives from slice ${origin} itself; must be another`;
      refuse([...path, 'name'], text);
    }
    checkSlice(slice, valueAt(stated, path), path, refuse);
  }
  return mistakes;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function checkSlice(slice: Mapping, stated: unknown, path: SettingPath, refuse: Refuse) {
  const { dimensions, metrics, cohorts, filters } = slice;
  refuseRepeats(refuse, itemsOf(dimensions), (at) => [...path, 'dimensions', at], 'a dimension');
  refuseRepeats(refuse, itemsOf(metrics), (at) => [...path, 'metrics', at], 'a metric');
  const columns = new Set(textsOf(dimensions).map((name) => name.toLowerCase()));
  for (const [index, metric] of itemsOf(metrics).entries()) {
    if (typeof metric !== 'string' || !columns.has(metric.toLowerCase())) continue;
    const text = 'is already a dimension of this slice (names are compared without case)';
    refuse([...path, 'metrics', index], `${JSON.stringify(metric)} ${text}`);
  }
  if (cohorts !== undefined) checkCube(slice, path, refuse);
  else if (metrics === undefined)
    refuse([...path, 'metrics'], 'is missing; must be a list of metrics, unless cohorts is set');
  // Only what the slice itself states: the defaults may name metrics that only other slices request.
  for (const key of ['types', 'additive']) {
    const names = textsOf(metrics);
    for (const name of Object.keys(mappingOf(valueAt(stated, [key])))) {
      // Only a slip is refused: the slice may request any other metric later.
      if (names.some((metric) => globMatches(metric, name)) || nearest(name, names) === null)
        continue;
      const text = `is not a metric of this slice; allowed: ${names.join(', ')}`;
      refuse([...path, key, name], text + suggestion(name, names), 'key');
    }
  }
  // Only `in` and `not_in` take lists (service-interface: Dimension filters).
  for (const [key, value] of Object.entries(mappingOf(filters))) {
    const filter = parseFilterKey(key);
    if (filter === null) continue;
    const { kind, suffix } = filter;
    const takesList = suffix === 'in' || suffix === 'not_in';
    const isNumber =
      typeof value === 'number' ? Number.isFinite(value) : NUMBER.test(String(value));
    const place = [...path, 'filters', key];
    if (Array.isArray(value) && !takesList)
      refuse(place, `is a list; ${suffix} takes one ${kind === 'metric' ? 'number' : 'text'}`);
    else if (kind === 'metric' && !isNumber)
      refuse(place, `is not a number; ${suffix} takes one, such as 10 or 0.5`);
    else if (typeof value === 'string' && value.includes(',') && takesList)
      refuse(place, 'contains a comma; must be a list of values, such as [ios, android]');
  }
}

function checkCube(slice: Mapping, path: SettingPath, refuse: Refuse) {
  const cohorts = mappingOf(slice['cohorts']);
  const place = [...path, 'cohorts'];
  if (slice['metrics'] !== undefined)
    refuse(place, 'cannot be used with metrics; remove one of them', 'key');
  const dimensions = textsOf(slice['dimensions']);
  const needsDate = 'contain no date dimension; a slice with cohorts needs one, such as day';
  if (!dimensions.some(isDateDimension)) refuse([...path, 'dimensions'], needsDate);
  const keys = Object.keys(cohorts);
  refuseRepeats(refuse, keys, (index) => [...place, keys[index] ?? ''], 'a key');
  const seen = new Set<string>();
  for (const [key, value] of Object.entries(cohorts)) {
    const ages = textsOf(Array.isArray(value) ? value : [value]);
    for (const { metric } of cubeMetrics({ [key]: ages.flatMap((age) => agesIn(age) ?? []) })) {
      if (seen.has(metric.toLowerCase()))
        refuse([...place, key], `states ${metric} twice; must state it once`);
      seen.add(metric.toLowerCase());
    }
  }
  for (const name of dimensions) {
    if (cubeColumns.some((column) => column === name.toLowerCase()))
      refuse([...path, 'dimensions'], `hold ${name}, a column of every table with cohorts`);
  }
  for (const key of Object.keys(mappingOf(slice['filters']))) {
    if (parseFilterKey(key)?.kind !== 'metric') continue;
    const text = 'filters a metric; a slice with cohorts requests its metrics in parts';
    refuse([...path, 'filters', key], `${text}, so filter by dimensions alone`, 'key');
  }
}

function refuseRepeats(
  refuse: Refuse,
  items: readonly unknown[],
  pathOf: (index: number) => SettingPath,
  noun: string,
) {
  const names = items.map((item) => (typeof item === 'string' ? item.toLowerCase() : null));
  for (const [index, name] of names.entries()) {
    if (name === null || names.indexOf(name) === index) continue;
    const text = `repeats ${noun} (names are compared without case); remove one`;
    refuse(pathOf(index), `${JSON.stringify(items[index])} ${text}`);
  }
}

/** Returns the token, or (null) adds a mistake unless no file is named. */
export function readTokenFile(root: unknown, base: string, mistakes: Mistake[]) {
  const path = ['service', 'token_file'];
  const file = valueAt(root, path);
  if (typeof file !== 'string' || file === '') return null;
  let text = 'names a file that is empty or has more than a token; it must contain only the token';
  try {
    const token = readFileSync(resolve(base, file), 'utf8').trim();
    if (/^[\x21-\x7e]+$/.test(token)) return token;
  } catch (thrown) {
    const code = systemText(thrown, 'code') || 'unreadable';
    const where = "relative paths start at the configuration's directory";
    text = `names a file that could not be read (${code}); ${where}`;
  }
  mistakes.push({ path, at: 'value', text });
  return null;
}
