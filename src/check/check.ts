/** Finds everything that is known to be wrong before a sync, and what works; writes nothing. */

import type { Config } from '../config/config.ts';
import type { Problem } from '../config/config-problems.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Slice } from '../model/slice.ts';
import { hasStars, starRefusal, starsOf, twinsText, withStars } from '../model/stars.ts';
import { countText, namesText } from '../terminal/measure.ts';
import { finding, findingOf, mergedNotes, placeOf, type Finding } from './finding.ts';
import { loadedMetricsAt, placeFindings } from './warehouse.ts';
import { type Checking, requestedService } from './service.ts';
import { CatalogLists } from './catalog-lists.ts';
import { type CheckedSlice, sliceFindings } from './slice.ts';

/** The problems of a configuration file; nothing else is tried then. */
export function problemFindings(problems: readonly Problem[]): Finding[] {
  const wrong = problems.map(({ place, key, text }): Finding => {
    const setting = key === '' ? null : key;
    return {
      ...finding('error', text, null, { slice: null, setting, place }),
      code: 'CONFIG_INVALID',
    };
  });
  return [
    ...wrong,
    finding('untried', 'the service, the warehouse and the slices, as the configuration is wrong'),
  ];
}

/** Everything wrong or doubtful about a readable configuration: places, service, token and every slice. */
export async function findingsOf(
  config: Config,
  checking: Checking,
  emit: Emit,
): Promise<Finding[]> {
  const { stated, at } = checking;
  const service = await requestedService(config, checking, emit);
  const lists = new CatalogLists(service.catalog);
  const loaded = config.slices.some(hasStars) ? await loadedMetricsAt(config.warehouse) : null;
  const slices = config.slices.map((slice) =>
    withStars(slice, lists.metrics, loaded?.get(slice.name)),
  );
  const places = await placeFindings({ ...config, slices }, checking);
  return mergedNotes([
    ...places,
    ...service.findings,
    ...config.slices.flatMap((slice, index) =>
      starFindings({ slice, index, stated, lists }, loaded?.get(slice.name)),
    ),
    ...slices.flatMap((slice, index) =>
      sliceFindings({ slice, index, stated, lists }, service.catalog, at),
    ),
    ...sliceWorks(slices, lists),
  ]);
}

/** What the stars of a slice stand for, or why the slice cannot be loaded with them. */
function starFindings(
  { slice, index, stated, lists }: CheckedSlice,
  loaded?: ReadonlySet<string>,
): Finding[] {
  const place = placeOf(stated, ['slices', index, 'metrics'], slice.name);
  const refusal = lists.metrics.size === 0 ? null : starRefusal(slice, lists.metrics);
  if (refusal !== null)
    return [findingOf(new Failure('CONFIG_INVALID', refusal.message, refusal), place)];
  const stars = starsOf(slice, lists.metrics, loaded);
  const notes = stars.map(({ pattern, metrics }) => {
    const text = `${pattern} stands for ${countText(metrics.length, 'metric')}: ${namesText(metrics)}`;
    return finding('note', text, null, place);
  });
  const twins = twinsText(stars);
  return twins === null ? notes : [...notes, finding('warning', twins, null, place)];
}

/** How many slices have only metrics that filters-data lists. */
function sliceWorks(slices: readonly Slice[], { metrics }: CatalogLists): Finding[] {
  if (metrics.size === 0)
    return [finding('untried', 'the names in the slices, as filters-data listed no metric')];
  const known = slices.filter((slice) => slice.metrics.every((metric) => metrics.has(metric)));
  const names = new Set(known.flatMap((slice) => slice.metrics));
  if (known.length === 0) return [];
  return [
    finding(
      'works',
      `${countText(known.length, 'slice')}, ${countText(names.size, 'metric')} known`,
    ),
  ];
}
