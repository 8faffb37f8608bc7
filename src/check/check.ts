/** Everything that can be known to be wrong before a sync, at once, and what works; writes nothing. */

import type { Config } from '../config/config.ts';
import type { Problem } from '../config/config-problems.ts';
import { nearest } from '../config/nearest.ts';
import type { Emit } from '../events.ts';
import { isMetricItem } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { starRefusal, starsOf, withStars } from '../model/stars.ts';
import { UNREADABLE_HINT, unreadableNames } from '../publish/delta/table.ts';
import { countText } from '../terminal/measure.ts';
import { finding, mergedNotes, placed, type Finding, type Remark } from './finding.ts';
import { placeFindings } from './places.ts';
import { requestedService } from './service.ts';
import { CatalogLists } from './catalog-lists.ts';
import { sliceRemarks } from './slice.ts';
import type { Checking } from './warehouse.ts';

/** What is wrong with a file, of which nothing else is tried then. */
export function problemFindings(problems: readonly Problem[]): Finding[] {
  const wrong = problems.map(({ place, key, text }): Finding => {
    const setting = key === '' ? null : key;
    return { severity: 'error', code: 'CONFIG_INVALID', slice: null, setting, place, message: text, hint: null };
  });
  return [...wrong, finding('untried', 'the service, the warehouse and the slices, as the configuration is wrong')];
}

/** Everything wrong or odd about a readable configuration: places, service, token and every slice. */
export async function findingsOf(config: Config, { stated, at, signal }: Checking, emit: Emit): Promise<Finding[]> {
  const service = await requestedService({ config, stated, at, emit }, signal);
  const listed = new Set(service.catalog.filter(isMetricItem).map(({ id }) => id));
  const slices = config.slices.map((slice) => withStars(slice, listed));
  const places = await placeFindings({ ...config, slices }, { at, stated, signal });
  const lists = new CatalogLists(service.catalog);
  return mergedNotes([
    ...placed(clockRemarks(at), null, stated),
    ...places,
    ...service.findings,
    ...slices.flatMap((slice, index) => {
      const remarks = [
        ...starRemarks(config.slices[index] ?? slice, index, listed),
        ...sliceRemarks({ slice, index, stated }, service.catalog, lists, at),
      ];
      return placed(remarks, slice.name, stated);
    }),
    ...placed(linkRemarks(config, lists), null, stated),
    ...nameFindings(config, slices),
    ...sliceWorks(slices, lists),
  ]);
}

/** More names make a message longer, not clearer. */
const MOST_NAMES = 5;

/** What each star of a slice stands for, or why it cannot be loaded with that. */
function starRemarks(slice: Slice, index: number, listed: ReadonlySet<string>): Remark[] {
  const path = ['slices', index, 'metrics'];
  const refusal = listed.size === 0 ? null : starRefusal(slice, listed);
  if (refusal !== null) return [{ severity: 'error', code: 'CONFIG_INVALID', path, ...refusal }];
  return starsOf(slice, listed).map(({ pattern, metrics }) => {
    const more = metrics.length > MOST_NAMES ? ` and ${metrics.length - MOST_NAMES} more` : '';
    const message = `${pattern} stands for ${countText(metrics.length, 'metric')}: ${metrics.slice(0, MOST_NAMES).join(', ')}${more}`;
    return { severity: 'note', path: [...path, slice.metrics.indexOf(pattern)], message, hint: null };
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
function clockRemarks(at: Date): Remark[] {
  const now = new Date();
  if (at <= now) return [];
  const message = `${at.toISOString()} is later than the clock, ${now.toISOString()}, and no run plans for the future`;
  const hint = 'Set an instant in the past, or leave it out.';
  return [{ severity: 'error', code: 'AS_OF_IN_FUTURE', path: ['service', 'simulator', 'now'], message, hint }];
}

function linkRemarks({ links }: Config, lists: CatalogLists): Remark[] {
  const apps = lists.of('apps');
  if (links === null || links.apps === 'all' || apps.size === 0) return [];
  const tokens = links.apps;
  return tokens.flatMap((token, index): Remark[] => {
    if (apps.has(token)) return [];
    const near = nearest(token, apps);
    const hint = near === null || tokens.includes(near) ? null : `Did you mean ${near}?`;
    return [
      { severity: 'warning', path: ['links', 'apps', index], message: `filters-data listed no app ${token}`, hint },
    ];
  });
}
