/**
 * What is wrong between settings of slices that are each right by themselves.
 *
 * These look at the values as they were read, not at what the schema made of them: a slice with one wrong key is
 * checked all the same, so that every problem is told at once.
 */

import { suggestion, type Finding, type SettingPath } from './config-problems.ts';
import { nearest } from './nearest.ts';
import { isMapping, itemsOf } from './plain-values.ts';
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
    ...slices.flatMap((slice, index) => typeFindings(slice, ['slices', index])),
    ...slices.flatMap((slice, index) => filterFindings(slice, ['slices', index])),
  ];
}

type Mapping = Readonly<Record<string, unknown>>;

function columnFindings(slice: Mapping, path: SettingPath): Finding[] {
  return ['dimensions', 'metrics'].flatMap((key) =>
    repeats(itemsOf(slice[key]), (index) => [...path, key, index], key.slice(0, -1)),
  );
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

/** A type may wait for a metric the slice does not ask for yet; one whose name is nearly a metric's is a slip. */
function typeFindings(slice: Mapping, path: SettingPath): Finding[] {
  const types = slice['types'];
  const metrics = itemsOf(slice['metrics']).filter((metric) => typeof metric === 'string');
  if (!isMapping(types)) return [];
  return Object.keys(types)
    .filter((name) => !metrics.includes(name) && nearest(name, metrics) !== null)
    .map((name) => ({
      path: [...path, 'types', name],
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
