/**
 * What is wrong between settings of slices that are each right by themselves.
 *
 * These look at the values as they were read, not at what the schema made of them: a slice with one wrong key is
 * checked all the same, so that every problem is told at once.
 */

import { suggestion, type Finding, type SettingPath } from './config-problems.ts';
import { nearest } from './nearest.ts';
import { isMapping, itemsOf, valueAt } from './plain-values.ts';
import { parseFilterKey } from './report-settings.ts';

/** Everything the settings' root says of slices and their defaults that does not go together. */
export function sliceFindings(root: unknown): Finding[] {
  if (!isMapping(root)) return [];
  const slices = itemsOf(root['slices']).map((slice) => (isMapping(slice) ? slice : {}));
  const names = slices.map((slice) => slice['name']);
  return [
    ...(isMapping(root['defaults']) ? filterFindings(root['defaults'], ['defaults']) : []),
    ...repeats(names, (index) => ['slices', index, 'name'], 'slice name'),
    ...slices.flatMap((slice, index) => columnFindings(slice, ['slices', index])),
    ...slices.flatMap((slice, index) => derivedNameFindings(names, slice['name'], ['slices', index, 'name'])),
    ...slices.flatMap((slice, index) =>
      ['types', 'additive'].flatMap((key) => strayFindings(slice, ['slices', index, key])),
    ),
    ...slices.flatMap((slice, index) => filterFindings(slice, ['slices', index])),
  ];
}

type Mapping = Readonly<Record<string, unknown>>;

function columnFindings(slice: Mapping, path: SettingPath): Finding[] {
  const dimensions = new Set(textsOf(slice['dimensions']).map((name) => name.toLowerCase()));
  return [
    ...['dimensions', 'metrics'].flatMap((key) =>
      repeats(itemsOf(slice[key]), (index) => [...path, key, index], key.slice(0, -1)),
    ),
    ...itemsOf(slice['metrics']).flatMap((metric, index): Finding[] => {
      if (typeof metric !== 'string' || !dimensions.has(metric.toLowerCase())) return [];
      const text = 'is a dimension of this slice too; a column is one or the other, whatever its letter case';
      return [{ path: [...path, 'metrics', index], at: 'value', text }];
    }),
  ];
}

const textsOf = (list: unknown): string[] => itemsOf(list).filter((item) => typeof item === 'string');

/** What ripen makes of a slice is named after it; another slice of such a name would stand in its place. */
const derivedEndings = ['_cohorts', '_maturation', '_projected'] as const;

function derivedNameFindings(names: readonly unknown[], name: unknown, path: SettingPath): Finding[] {
  const origin = names.find(
    (other) => typeof other === 'string' && derivedEndings.some((ending) => `${other}${ending}` === name),
  );
  if (typeof origin !== 'string') return [];
  return [{ path, at: 'value', text: `is a name ripen derives from slice ${origin} itself; must be another` }];
}

/** Texts that say again, but for letter case, what one before them says: columns and tables ignore case. */
function repeats(items: readonly unknown[], pathOf: (index: number) => SettingPath, noun: string): Finding[] {
  const seen = new Map<string, string>();
  return items.flatMap((item, index): Finding[] => {
    if (typeof item !== 'string') return [];
    const before = seen.get(item.toLowerCase());
    if (before === undefined) {
      seen.set(item.toLowerCase(), item);
      return [];
    }
    const wrong = before === item ? `repeats a ${noun}` : `differs only in letter case from a ${noun} before it`;
    return [{ path: pathOf(index), at: 'value', text: `${wrong}; each is stated once` }];
  });
}

/** What is stated by metric may wait for one the slice does not ask for yet; a name that is nearly a metric's is a slip. */
function strayFindings(slice: Mapping, path: SettingPath): Finding[] {
  const stated = valueAt(slice, path.slice(-1));
  const metrics = textsOf(slice['metrics']);
  if (!isMapping(stated)) return [];
  return Object.keys(stated)
    .filter((name) => !metrics.includes(name) && nearest(name, metrics) !== null)
    .map((name) => ({
      path: [...path, name],
      at: 'key',
      text: `is not a metric of this slice; allowed: ${metrics.join(', ')}${suggestion(name, metrics)}`,
    }));
}

/** Only `in` and `not_in` take lists (service-interface: Dimension filters). */
function filterFindings(settings: Mapping, path: SettingPath): Finding[] {
  const filters = settings['filters'];
  if (!isMapping(filters)) return [];
  return Object.entries(filters).flatMap(([key, value]): Finding[] => {
    const parsed = parseFilterKey(key);
    if (parsed === null) return [];
    const place: SettingPath = [...path, 'filters', key];
    const takesList = parsed.suffix === 'in' || parsed.suffix === 'not_in';
    if (Array.isArray(value) && !takesList) {
      return [{ path: place, at: 'value', text: `is a list; ${parsed.suffix} takes one ${filterNouns[parsed.kind]}` }];
    }
    if (typeof value !== 'string' || !value.includes(',') || !takesList) return [];
    return [{ path: place, at: 'value', text: 'holds a comma; must be a list of values, such as [ios, android]' }];
  });
}

const filterNouns = { dimension: 'text', metric: 'number' } as const;
