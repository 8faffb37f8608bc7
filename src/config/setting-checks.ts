/**
 * What is wrong between settings that are each right by themselves: the service's credential, destinations, the environment;
 * slices.
 *
 * These look at the values as they were read, not at what the schema made of them: a slice with one wrong key is
 * checked all the same, so that every problem is told at once.
 */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { agesIn, cubeColumns, cubeMetrics } from '../model/cube.ts';
import { isDateDimension } from '../model/dimension.ts';
import { globMatches } from '../model/metric.ts';
import { type Mistake, type SettingPath, suggestion } from './config-problems.ts';
import type { Environment } from './expansion.ts';
import { nearest } from './nearest.ts';
import { isMapping, itemsOf, valueAt } from './plain-values.ts';
import { storeKeys } from './publish-settings.ts';
import { parseFilterKey } from './report-settings.ts';

/** Everything in the settings, as stated and with the defaults in each slice, that does not go together. */
export function settingMistakes(stated: unknown, root: unknown, base: string, environment: Environment): Mistake[] {
  if (!isMapping(root)) return [];
  const states = (path: SettingPath): boolean => valueAt(stated, path) !== undefined;
  return [
    ...verificationMistakes(environment),
    ...tokenMistakes(root['service']),
    ...publishMistakes(root, base),
    ...sliceMistakes(
      itemsOf(root['slices']).map((slice) => (isMapping(slice) ? slice : {})),
      states,
    ),
  ];
}

/** With it, Node accepts any certificate: the token would go to whoever answers. */
function verificationMistakes(environment: Environment): Mistake[] {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return [];
  const text =
    'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the checking of certificates; unset it, and name an own authority in service.ca_file';
  return [{ path: ['service'], at: 'key', text }];
}

function tokenMistakes(service: unknown): Mistake[] {
  if (!isMapping(service) || 'simulator' in service) return [];
  const states = (key: string): boolean => Object.hasOwn(service, key);
  if (states('token') && states('token_file')) {
    return [{ path: ['service', 'token_file'], at: 'key', text: 'is stated besides token; state one of the two' }];
  }
  // A misspelt one is told as an unknown key.
  if (Object.keys(service).some((key) => nearest(key, ['token', 'token_file']) !== null)) return [];
  return [{ path: ['service', 'token'], at: 'key', text: 'is missing; must be stated here or in token_file' }];
}

function publishMistakes(root: Readonly<Record<string, unknown>>, base: string): Mistake[] {
  const warehouse = root['warehouse'];
  const taken = new Map<string, string>();
  if (typeof warehouse === 'string') taken.set(placeOf(warehouse, base), 'the warehouse');
  return itemsOf(root['publish']).flatMap((target, index): Mistake[] => {
    if (!isMapping(target)) return [];
    const kinds = ['duckdb', 'delta', 'parquet'].filter((kind) => Object.hasOwn(target, kind));
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1) {
      const wrong = kind === undefined ? 'names no destination' : 'names two destinations';
      return [{ path: ['publish', index], at: 'value', text: `${wrong}; must name one, duckdb, delta or parquet` }];
    }
    const destination = target[kind];
    if (typeof destination !== 'string') return [];
    const misplaced = misplacedMistakes(target, kind, destination.startsWith('s3://')).map(([key, text]): Mistake => ({
      path: ['publish', index, key],
      at: 'key',
      text,
    }));
    const place = placeOf(destination, base);
    const holder = taken.get(place);
    taken.set(place, 'another destination');
    if (holder === undefined) return misplaced;
    const text = `is the path of ${holder}; must be one of its own`;
    return misplaced.concat({ path: ['publish', index, kind], at: 'value', text });
  });
}

/** Settings of a target that mean nothing for its kind or its place. */
function misplacedMistakes(target: Mapping, kind: string, isStore: boolean): [key: string, text: string][] {
  const wrong: [keys: readonly string[], isWrong: boolean, text: string][] = [
    [['mode'], isStore, 'is for files; an object store has no file rights; leave it out'],
    [storeKeys, !isStore, 'is for s3://bucket/prefix alone; leave it out'],
    [['keep', 'keep_released', 'column_mapping'], kind !== 'delta', 'is for delta alone; leave it out'],
  ];
  return wrong.flatMap(([keys, isWrong, text]) =>
    keys.filter((key) => isWrong && Object.hasOwn(target, key)).map((key): [string, string] => [key, text]),
  );
}

const placeOf = (path: string, base: string): string =>
  path.includes('://') ? path.replace(/\/+$/, '') : resolve(base, path);

/** The token of `service.token_file`, trimmed; null when there is none to read, and what is wrong with it if anything. */
export function readTokenFile(
  root: unknown,
  base: string,
): { readonly token: string | null; readonly mistakes: Mistake[] } {
  const service = isMapping(root) ? root['service'] : null;
  const path = isMapping(service) ? service['token_file'] : null;
  if (typeof path !== 'string' || path === '') return { token: null, mistakes: [] };
  const wrong = (text: string) => ({
    token: null,
    mistakes: [{ path: ['service', 'token_file'], at: 'value', text } as const],
  });
  try {
    const token = readFileSync(resolve(base, path), 'utf8').trim();
    return /^[\x21-\x7e]+$/.test(token)
      ? { token, mistakes: [] }
      : wrong('names a file that is empty or holds more than a token; it must hold the token alone');
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
    return wrong(
      `names a file that could not be read (${code}); relative paths start at the configuration's directory`,
    );
  }
}

function sliceMistakes(slices: readonly Mapping[], states: (path: SettingPath) => boolean): Mistake[] {
  const names = slices.map((slice) => slice['name']);
  return [
    ...repeats(names, (index) => ['slices', index, 'name'], 'slice name'),
    ...slices.flatMap((slice, index): Mistake[] => {
      const path = ['slices', index];
      return [
        ...columnMistakes(slice, path),
        ...cubeMistakes(slice, path),
        ...derivedNameMistakes(names, slice['name'], [...path, 'name']),
        // What the defaults state by metric is for those slices that request it.
        ...['types', 'additive'].flatMap((key) => (states([...path, key]) ? strayMistakes(slice, [...path, key]) : [])),
        ...filterMistakes(slice, path),
      ];
    }),
  ];
}

type Mapping = Readonly<Record<string, unknown>>;

function columnMistakes(slice: Mapping, path: SettingPath): Mistake[] {
  const dimensions = new Set(textsOf(slice['dimensions']).map((name) => name.toLowerCase()));
  return [
    ...['dimensions', 'metrics'].flatMap((key) =>
      repeats(itemsOf(slice[key]), (index) => [...path, key, index], key.slice(0, -1)),
    ),
    ...itemsOf(slice['metrics']).flatMap((metric, index): Mistake[] => {
      if (typeof metric !== 'string' || !dimensions.has(metric.toLowerCase())) return [];
      const text = `${JSON.stringify(metric)} is a dimension of this slice too; a column is one or the other, whatever its letter case`;
      return [{ path: [...path, 'metrics', index], at: 'value', text }];
    }),
  ];
}

/** What does not go together in a slice in long form, or in one that states neither metrics nor cohorts. */
function cubeMistakes(slice: Mapping, path: SettingPath): Mistake[] {
  const { metrics, cohorts, dimensions, filters } = slice;
  if (cohorts === undefined) {
    const text = 'is missing; must be a list of metrics, or cohorts in its place';
    return metrics === undefined ? [{ path: [...path, 'metrics'], at: 'value', text }] : [];
  }
  const place = [...path, 'cohorts'];
  const taken = textsOf(dimensions).filter((name) => cubeColumns.some((column) => column === name.toLowerCase()));
  const filtering = Object.keys(isMapping(filters) ? filters : {}).filter(
    (key) => parseFilterKey(key)?.kind === 'metric',
  );
  const ids = isMapping(cohorts) ? cubeMetrics(understoodCohorts(cohorts)) : [];
  const repeated = ids.find(({ metric }, at) => ids.findIndex((other) => other.metric === metric) < at);
  const found: [wrong: boolean, mistake: Mistake][] = [
    [metrics !== undefined, { path: place, at: 'key', text: 'stands beside metrics; must be one of the two' }],
    [
      !textsOf(dimensions).some(isDateDimension),
      { path: [...path, 'dimensions'], at: 'value', text: 'hold no date; a slice with cohorts needs one, such as day' },
    ],
    [
      repeated !== undefined,
      {
        path: [...place, repeated?.cohort ?? ''],
        at: 'value',
        text: `states ${repeated?.metric ?? ''} twice; must state it once`,
      },
    ],
  ];
  return [
    ...found.flatMap(([wrong, mistake]) => (wrong ? [mistake] : [])),
    ...taken.map((name): Mistake => {
      return { path: [...path, 'dimensions'], at: 'value', text: `hold ${name}, a column of every table with cohorts` };
    }),
    ...filtering.map((key): Mistake => {
      const text =
        'filters a metric; a slice with cohorts requests its metrics in parts, so filter by dimensions alone';
      return { path: [...path, 'filters', key], at: 'key', text };
    }),
  ];
}

/** The ages of each key, where they can be read. */
function understoodCohorts(cohorts: Mapping): Record<string, readonly string[]> {
  const agesOf = (value: unknown): readonly string[] =>
    typeof value === 'string' ? (agesIn(value) ?? []) : textsOf(value).flatMap((each) => agesIn(each) ?? []);
  return Object.fromEntries(Object.entries(cohorts).map(([key, value]) => [key, agesOf(value)]));
}

const textsOf = (list: unknown): string[] => itemsOf(list).filter((item) => typeof item === 'string');

/** What ripen makes of a slice is named after it; another slice of such a name would stand in its place. */
const derivedEndings = ['_cohorts', '_links', '_maturation', '_projected'] as const;

function derivedNameMistakes(names: readonly unknown[], name: unknown, path: SettingPath): Mistake[] {
  const origin = names.find(
    (other) => typeof other === 'string' && derivedEndings.some((ending) => `${other}${ending}` === name),
  );
  if (typeof origin !== 'string') return [];
  return [{ path, at: 'value', text: `is a name ripen derives from slice ${origin} itself; must be another` }];
}

/** Texts that say again, but for letter case, what one before them says: columns and tables ignore case. */
function repeats(items: readonly unknown[], pathOf: (index: number) => SettingPath, noun: string): Mistake[] {
  const seen = new Map<string, string>();
  return items.flatMap((item, index): Mistake[] => {
    if (typeof item !== 'string') return [];
    const before = seen.get(item.toLowerCase());
    if (before === undefined) {
      seen.set(item.toLowerCase(), item);
      return [];
    }
    const wrong = before === item ? `repeats a ${noun}` : `differs only in letter case from a ${noun} before it`;
    return [{ path: pathOf(index), at: 'value', text: `${JSON.stringify(item)} ${wrong}; each is stated once` }];
  });
}

/** What is stated by metric may wait for one the slice does not ask for yet; a name that is nearly a metric's is a slip. */
function strayMistakes(slice: Mapping, path: SettingPath): Mistake[] {
  const stated = valueAt(slice, path.slice(-1));
  const metrics = textsOf(slice['metrics']);
  if (!isMapping(stated)) return [];
  return Object.keys(stated)
    .filter((name) => !metrics.some((metric) => globMatches(metric, name)) && nearest(name, metrics) !== null)
    .map((name) => ({
      path: [...path, name],
      at: 'key',
      text: `is not a metric of this slice; allowed: ${metrics.join(', ')}${suggestion(name, metrics)}`,
    }));
}

/** Only `in` and `not_in` take lists (service-interface: Dimension filters). */
function filterMistakes(settings: Mapping, path: SettingPath): Mistake[] {
  const filters = settings['filters'];
  if (!isMapping(filters)) return [];
  return Object.entries(filters).flatMap(([key, value]): Mistake[] => {
    const parsed = parseFilterKey(key);
    if (parsed === null) return [];
    const place: SettingPath = [...path, 'filters', key];
    const takesList = parsed.suffix === 'in' || parsed.suffix === 'not_in';
    if (Array.isArray(value) && !takesList) {
      return [{ path: place, at: 'value', text: `is a list; ${parsed.suffix} takes one ${filterNouns[parsed.kind]}` }];
    }
    if (parsed.kind === 'metric' && !isNumeral(value)) {
      return [{ path: place, at: 'value', text: `is no number; ${parsed.suffix} takes one, such as 10 or 0.5` }];
    }
    if (typeof value !== 'string' || !value.includes(',') || !takesList) return [];
    return [{ path: place, at: 'value', text: 'holds a comma; must be a list of values, such as [ios, android]' }];
  });
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** Whether a value is a number, or a text that spells one. */
const isNumeral = (value: unknown): boolean =>
  typeof value === 'number' ? Number.isFinite(value) : typeof value === 'string' && NUMBER.test(value);

const filterNouns = { dimension: 'text', metric: 'number' } as const;
