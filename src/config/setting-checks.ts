/** Finds contradictions between valid settings. Checks the values as read, so a slice with one wrong key is checked too. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { agesIn, cubeColumns, cubeMetrics } from '../model/cube.ts';
import { isDateDimension } from '../model/dimension.ts';
import { globMatches } from '../model/metric.ts';
import {
  isMapping,
  itemsOf,
  type Mistake,
  type SettingPath,
  suggestion,
  valueAt,
} from './config-problems.ts';
import { nearest } from './nearest.ts';
import { parseFilterKey } from './report-settings.ts';
import type { Environment } from './variables.ts';

type Mapping = Readonly<Record<string, unknown>>;

const atKey = (path: SettingPath, text: string): Mistake => ({ path, at: 'key', text });
const atValue = (path: SettingPath, text: string): Mistake => ({ path, at: 'value', text });

const mappingOf = (value: unknown): Mapping => (isMapping(value) ? value : {});
const textsOf = (list: unknown): string[] =>
  itemsOf(list).filter((item) => typeof item === 'string');

/** Returns every contradiction in the settings; `root` is `stated` with the defaults in each slice. */
export function settingMistakes(
  stated: unknown,
  root: unknown,
  environment: Environment,
): Mistake[] {
  if (!isMapping(root)) return [];
  const slices = itemsOf(root['slices']).map(mappingOf);
  const names = slices.map((slice) => slice['name']);
  return [
    ...verificationMistakes(environment),
    ...tokenMistakes(root['service']),
    ...repeats(names, (index) => ['slices', index, 'name'], 'slice name'),
    ...slices.flatMap((slice, index) =>
      derivedNameMistakes(names, slice['name'], ['slices', index, 'name']),
    ),
    ...slices.flatMap((slice, index) =>
      sliceMistakes(slice, valueAt(stated, ['slices', index]), ['slices', index]),
    ),
  ];
}

function sliceMistakes(slice: Mapping, stated: unknown, path: SettingPath): Mistake[] {
  return [
    ...columnMistakes(slice, path),
    ...cubeMistakes(slice, path),
    // Only what the slice itself states: the defaults may name metrics that only other slices request.
    ...['types', 'additive'].flatMap((key) =>
      strayMistakes(slice, valueAt(stated, [key]), [...path, key]),
    ),
    ...Object.entries(mappingOf(slice['filters'])).flatMap(([key, value]): Mistake[] => {
      const text = filterProblem(key, value);
      return text === null ? [] : [atValue([...path, 'filters', key], text)];
    }),
  ];
}

/** With this variable Node accepts any certificate, so the token could go to any server that answers. */
function verificationMistakes(environment: Environment): Mistake[] {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return [];
  const text = 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the checking of certificates';
  return [
    atKey(
      ['service'],
      `${text}; unset it, and name your own certificate authority in service.ca_file`,
    ),
  ];
}

function tokenMistakes(service: unknown): Mistake[] {
  if (!isMapping(service) || 'simulator' in service) return [];
  const [first, second] = ['token', 'token_file'].filter((key) => key in service);
  if (second !== undefined)
    return [atKey(['service', second], 'is stated together with token; state one of the two')];
  return first === undefined
    ? [atKey(['service', 'token'], 'is missing; must be stated here or in token_file')]
    : [];
}

/** Reads the token of `service.token_file`, trimmed; null if none can be read. The mistakes are empty if nothing is wrong. */
export function readTokenFile(
  root: unknown,
  base: string,
): { readonly token: string | null; readonly mistakes: Mistake[] } {
  const path = valueAt(root, ['service', 'token_file']);
  if (typeof path !== 'string' || path === '') return { token: null, mistakes: [] };
  const wrong = (text: string) => ({
    token: null,
    mistakes: [atValue(['service', 'token_file'], text)],
  });
  try {
    const token = readFileSync(resolve(base, path), 'utf8').trim();
    return /^[\x21-\x7e]+$/.test(token)
      ? { token, mistakes: [] }
      : wrong(
          'names a file that is empty or holds more than a token; it must hold the token alone',
        );
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
    const where = "relative paths start at the configuration's directory";
    return wrong(`names a file that could not be read (${code}); ${where}`);
  }
}

function columnMistakes({ dimensions, metrics }: Mapping, path: SettingPath): Mistake[] {
  const taken = new Set(textsOf(dimensions).map((name) => name.toLowerCase()));
  const text =
    'is a dimension of this slice too; a column is one or the other, whatever its letter case';
  return [
    ...repeats(itemsOf(dimensions), (index) => [...path, 'dimensions', index], 'dimension'),
    ...repeats(itemsOf(metrics), (index) => [...path, 'metrics', index], 'metric'),
    ...itemsOf(metrics).flatMap((metric, index): Mistake[] =>
      typeof metric === 'string' && taken.has(metric.toLowerCase())
        ? [atValue([...path, 'metrics', index], `${JSON.stringify(metric)} ${text}`)]
        : [],
    ),
  ];
}

/** Returns the contradictions of a cube, or the mistake of a slice that states neither metrics nor cohorts. */
function cubeMistakes(
  { metrics, cohorts, dimensions, filters }: Mapping,
  path: SettingPath,
): Mistake[] {
  if (cohorts === undefined) {
    const text = 'is missing; must be a list of metrics, or cohorts in its place';
    return metrics === undefined ? [atValue([...path, 'metrics'], text)] : [];
  }
  const named = textsOf(dimensions);
  const taken = named.filter((name) => cubeColumns.some((column) => column === name.toLowerCase()));
  const filtering = Object.keys(mappingOf(filters)).filter(
    (key) => parseFilterKey(key)?.kind === 'metric',
  );
  const keys = Object.keys(mappingOf(cohorts));
  const ids = Object.entries(parseCohorts(mappingOf(cohorts))).flatMap(([key, ages]) =>
    cubeMetrics({ [key]: ages }).map(({ metric }) => ({ key, metric })),
  );
  const lower = ids.map(({ metric }) => metric.toLowerCase());
  const repeated = ids.find((_, at) => lower.indexOf(lower[at] ?? '') < at);
  const place = [...path, 'cohorts'];
  const dateless = 'contain no date dimension; a slice with cohorts needs one, such as day';
  const inParts =
    'filters a metric; a slice with cohorts requests its metrics in parts, so filter by dimensions alone';
  return [
    ...(metrics === undefined
      ? []
      : [atKey(place, 'is stated together with metrics; state one of the two')]),
    ...(named.some(isDateDimension) ? [] : [atValue([...path, 'dimensions'], dateless)]),
    ...repeats(keys, (index) => [...place, keys[index] ?? ''], 'key'),
    ...(repeated === undefined
      ? []
      : [atValue([...place, repeated.key], `states ${repeated.metric} twice; must state it once`)]),
    ...taken.map((name) =>
      atValue([...path, 'dimensions'], `hold ${name}, a column of every table with cohorts`),
    ),
    ...filtering.map((key) => atKey([...path, 'filters', key], inParts)),
  ];
}

/** The ages of each key, without those that cannot be read. */
function parseCohorts(cohorts: Mapping): Record<string, readonly string[]> {
  const agesOf = (value: unknown): readonly string[] =>
    textsOf(Array.isArray(value) ? value : [value]).flatMap((each) => agesIn(each) ?? []);
  return Object.fromEntries(Object.entries(cohorts).map(([key, value]) => [key, agesOf(value)]));
}

/** Endings of the views that ripen names after a slice. Another slice with such a name would take the place of a view. */
const derivedEndings = ['_cohorts', '_links', '_maturation', '_projected'] as const;

function derivedNameMistakes(
  names: readonly unknown[],
  name: unknown,
  path: SettingPath,
): Mistake[] {
  const origin = names.find((other) =>
    derivedEndings.some((ending) => `${String(other)}${ending}` === name),
  );
  if (typeof origin !== 'string') return [];
  return [atValue(path, `is a name ripen derives from slice ${origin} itself; must be another`)];
}

/** Finds names that repeat an earlier one. Letter case makes no difference, as columns and tables ignore it. */
function repeats(
  items: readonly unknown[],
  pathOf: (index: number) => SettingPath,
  noun: string,
): Mistake[] {
  const names = items.map((item) => (typeof item === 'string' ? item.toLowerCase() : null));
  return items.flatMap((item, index): Mistake[] => {
    if (names[index] === null || names.indexOf(names[index] ?? '') === index) return [];
    return [
      atValue(
        pathOf(index),
        `${JSON.stringify(item)} repeats a ${noun}, but for letter case; each is stated once`,
      ),
    ];
  });
}

/** Finds names that are nearly a metric's, as slips. Others are allowed: the slice may request the metric later. */
function strayMistakes(slice: Mapping, stated: unknown, path: SettingPath): Mistake[] {
  const metrics = textsOf(slice['metrics']);
  const allowed = `is not a metric of this slice; allowed: ${metrics.join(', ')}`;
  return Object.keys(mappingOf(stated))
    .filter(
      (name) =>
        !metrics.some((metric) => globMatches(metric, name)) && nearest(name, metrics) !== null,
    )
    .map((name) => atKey([...path, name], `${allowed}${suggestion(name, metrics)}`));
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** The mistake in a filter's value; null if none. Only `in` and `not_in` take lists (service-interface: Dimension filters). */
function filterProblem(key: string, value: unknown): string | null {
  const parsed = parseFilterKey(key);
  if (parsed === null) return null;
  const { kind, suffix } = parsed;
  const takesList = suffix === 'in' || suffix === 'not_in';
  if (Array.isArray(value) && !takesList)
    return `is a list; ${suffix} takes one ${kind === 'metric' ? 'number' : 'text'}`;
  const isNumeral = typeof value === 'number' ? Number.isFinite(value) : NUMBER.test(String(value));
  if (kind === 'metric' && !isNumeral)
    return `is no number; ${suffix} takes one, such as 10 or 0.5`;
  if (typeof value !== 'string' || !value.includes(',') || !takesList) return null;
  return 'holds a comma; must be a list of values, such as [ios, android]';
}
