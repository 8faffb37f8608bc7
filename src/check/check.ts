/** Everything that can be known to be wrong before a sync, at once, and what works; writes nothing. */

import type { Config } from '../config/config.ts';
import type { Problem } from '../config/config-problems.ts';
import { nearest } from '../config/nearest.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Slice } from '../model/slice.ts';
import { starRefusal, starsOf, withStars } from '../model/stars.ts';
import { UNREADABLE_HINT, unreadableNames } from '../publish/delta/table.ts';
import { countText, namesText } from '../terminal/measure.ts';
import { finding, findingOf, mergedNotes, placeOf, type Finding } from './finding.ts';
import { placeFindings } from './places.ts';
import { type Checking, requestedService } from './service.ts';
import { CatalogLists } from './catalog-lists.ts';
import { type CheckedSlice, sliceFindings } from './slice.ts';

/** What is wrong with a file, of which nothing else is tried then. */
export function problemFindings(problems: readonly Problem[]): Finding[] {
  const wrong = problems.map(({ place, key, text }): Finding => {
    const setting = key === '' ? null : key;
    return { ...finding('error', text, null, { slice: null, setting, place }), code: 'CONFIG_INVALID' };
  });
  return [...wrong, finding('untried', 'the service, the warehouse and the slices, as the configuration is wrong')];
}

/** Everything wrong or odd about a readable configuration: places, service, token and every slice. */
export async function findingsOf(config: Config, checking: Checking, emit: Emit): Promise<Finding[]> {
  const { stated, at } = checking;
  const service = await requestedService(config, checking, emit);
  const lists = new CatalogLists(service.catalog);
  const slices = config.slices.map((slice) => withStars(slice, lists.metrics));
  const places = await placeFindings({ ...config, slices }, checking);
  return mergedNotes([
    ...clockFindings(at, stated),
    ...places,
    ...service.findings,
    ...slices.flatMap((slice, index) => {
      const checked = { slice, index, stated, lists };
      const starred = starFindings({ ...checked, slice: config.slices[index] ?? slice });
      return [...starred, ...sliceFindings(checked, service.catalog, at)];
    }),
    ...linkFindings(config, lists, stated),
    ...nameFindings(config, slices),
    ...sliceWorks(slices, lists),
  ]);
}

/** What each star of a slice stands for, or why it cannot be loaded with that. */
function starFindings({ slice, index, stated, lists }: CheckedSlice): Finding[] {
  const path = ['slices', index, 'metrics'];
  const refusal = lists.metrics.size === 0 ? null : starRefusal(slice, lists.metrics);
  if (refusal !== null) {
    const { message, hint } = refusal;
    return [findingOf(new Failure('CONFIG_INVALID', message, { hint }), placeOf(stated, path, slice.name))];
  }
  return starsOf(slice, lists.metrics).map(({ pattern, metrics }) => {
    const message = `${pattern} stands for ${countText(metrics.length, 'metric')}: ${namesText(metrics)}`;
    return finding('note', message, null, placeOf(stated, [...path, slice.metrics.indexOf(pattern)], slice.name));
  });
}

/** Delta tables with column names that some engines cannot read. */
function nameFindings({ publish }: Config, slices: readonly Slice[]): Finding[] {
  const tables = slices.map(({ name, dimensions, metrics }) => ({ name, columns: [...dimensions, ...metrics] }));
  return publish.flatMap((target) => {
    const isPlain = target.kind === 'delta' && target.columnMapping !== true;
    const unreadable = isPlain ? unreadableNames(target.path, tables) : null;
    return unreadable === null ? [] : [finding('warning', unreadable, UNREADABLE_HINT)];
  });
}

/** How many slices have only metrics that filters-data lists. */
function sliceWorks(slices: readonly Slice[], { metrics }: CatalogLists): Finding[] {
  if (metrics.size === 0) return [finding('untried', 'the names in the slices, as filters-data listed no metric')];
  const known = slices.filter((slice) => slice.metrics.every((metric) => metrics.has(metric)));
  const names = new Set(known.flatMap((slice) => slice.metrics));
  if (known.length === 0) return [];
  return [finding('works', `${countText(known.length, 'slice')}, ${countText(names.size, 'metric')} known`)];
}

/** A stated instant is checked before; what is later than the clock is the simulator's. */
function clockFindings(at: Date, stated: StatedSettings): Finding[] {
  const now = new Date();
  if (at <= now) return [];
  const message = `${at.toISOString()} is later than the clock, ${now.toISOString()}, and no run plans for the future`;
  const failure = new Failure('AS_OF_IN_FUTURE', message, { hint: 'Set an instant in the past, or leave it out.' });
  return [findingOf(failure, placeOf(stated, ['service', 'simulator', 'now']))];
}

function linkFindings({ links }: Config, lists: CatalogLists, stated: StatedSettings): Finding[] {
  const apps = lists.of('apps');
  if (links === null || links.apps === 'all' || apps.size === 0) return [];
  const tokens = links.apps;
  return tokens.flatMap((token, index) => {
    if (apps.has(token)) return [];
    const near = nearest(token, apps);
    const hint = near === null || tokens.includes(near) ? null : `Did you mean ${near}?`;
    const place = placeOf(stated, ['links', 'apps', index]);
    return [finding('warning', `filters-data listed no app ${token}`, hint, place)];
  });
}
