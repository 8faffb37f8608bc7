/**
 * What is left of the settings without what is wrong in them.
 *
 * Only for telling more of a file that is refused anyway: the rest of it is held against the service in the same round.
 * Nothing is ever asked for or loaded by it.
 */

import { schemaPlaces } from './schema-findings.ts';
import type { SettingPath } from './config-problems.ts';
import { isMapping, itemsOf } from './plain-values.ts';
import { isWithin } from './settings-text.ts';
import { settings, type Settings } from './settings.ts';

/** A wrong value may hide another below it; deeper than this nothing nests. */
const MOST_ROUNDS = 6;

/**
 * The settings without the places that are wrong and whatever else the schema refuses; what a slice or the service must
 * have is stood in for. Null when that cannot be read either.
 */
export function soundSettings(root: unknown, wrong: readonly SettingPath[]): Settings | null {
  const places = [...wrong];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const parsed = settings.safeParse(completed(without(root, places, []), places));
    if (parsed.success) return parsed.data;
    places.push(...schemaPlaces(parsed.error.issues));
  }
  return null;
}

/** A value without the places below it; undefined when it is one of them itself. Slices keep their number. */
function without(value: unknown, places: readonly SettingPath[], path: SettingPath): unknown {
  const within = places.filter((place) => isWithin(place, path));
  if (within.length === 0) return value;
  if (path.length > 0 && within.some((place) => place.length === path.length)) return undefined;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const left = items.map((item, index) => without(item, within, [...path, index]));
    if (path.length === 1 && path[0] === 'slices') return left;
    const kept = left.filter((item) => item !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, without(inner, within, [...path, key])] as const);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

/** The settings with a service and slices that can be read. */
function completed(root: unknown, places: readonly SettingPath[]): unknown {
  const stated = isMapping(root) ? root : {};
  const isServiceWrong = !Object.hasOwn(stated, 'service') || places.some(([first]) => first === 'service');
  const slices = itemsOf(stated['slices']).map(completedSlice);
  return { ...stated, ...(isServiceWrong ? { service: 'simulator' } : {}), slices };
}

function completedSlice(slice: unknown, index: number): unknown {
  const needed = { name: `slice_${index + 1}`, dimensions: ['day'], metrics: ['installs'], date_period: 'yesterday' };
  return { ...needed, ...(isMapping(slice) ? slice : {}) };
}
