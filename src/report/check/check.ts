/** Finds everything that is known to be wrong before a sync, and what works; writes nothing. */

import type { Config } from '../../config/config.ts';
import type { Problem } from '../../config/config-problems.ts';
import { Failure, textOf } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import type { Slice } from '../../model/slice.ts';
import type { Catalog } from '../../model/catalog.ts';
import { sliceRefusal } from '../../model/slice-refusal.ts';
import { hasStars, type Star, starsOf, twinsText, withStars } from '../../model/stars.ts';
import { countText, namesText } from '../terminal/measure.ts';
import { wrapped } from '../terminal/table.ts';
import { finding, findingOf, mergedNotes, placeOf, type Finding } from './finding.ts';
import { placeFindings, storedMetricsAt } from './warehouse.ts';
import { type Checking, requestedService } from './service.ts';
import { CatalogLists } from './catalog-lists.ts';
import { type CheckedSlice, settingPath, sliceFindings } from './slice.ts';

const NOTE_WIDTH = 100;

export function problemFindings(problems: readonly Problem[]): Finding[] {
  const wrong = problems.map(({ place, key, text }): Finding => {
    const at = { slice: null, setting: key === '' ? null : key, place };
    return { ...finding('error', text, null, at), code: 'CONFIG_INVALID' };
  });
  const untried = 'the service, the warehouse and the slices, as the configuration is wrong';
  return [...wrong, finding('untried', untried)];
}

export async function findingsOf(
  config: Config,
  checking: Checking,
  emit: Emit,
): Promise<Finding[]> {
  const { stated, at } = checking;
  const service = await requestedService(config, checking, emit);
  const lists = new CatalogLists(service.catalog);
  const stored = config.slices.some(hasStars)
    ? await storedMetricsAt(config.warehouse).catch(() => null)
    : null;
  const loaded = stored?.loaded;
  const slices = config.slices.map((slice) =>
    withStars(slice, lists.metrics, loaded?.get(slice.name)),
  );
  const refusals = config.slices.flatMap((slice, index) =>
    refusalOrStars({ slice, index, stated, lists }, service.catalog, loaded?.get(slice.name)),
  );
  // The plan of a refused slice would be refused for the same reason.
  const refused = new Set(refusals.flatMap(({ code, slice }) => (code === null ? [] : [slice])));
  const places = await placeFindings({ ...config, slices }, checking);
  return mergedNotes([
    ...places.filter(({ code, slice }) => code !== 'CONFIG_INVALID' || !refused.has(slice)),
    ...service.findings,
    ...refusals,
    ...slices.flatMap((slice, index) =>
      sliceFindings({ slice, index, stated, lists }, service.catalog, at),
    ),
    ...sliceWorks(slices, lists),
  ]);
}

/** Says why a slice cannot be loaded as configured, or else what its stars stand for. */
function refusalOrStars(
  checked: CheckedSlice,
  catalog: Catalog,
  loaded?: ReadonlySet<string>,
): Finding[] {
  const { slice, index, stated, lists } = checked;
  const refusal = sliceRefusal(slice, catalog);
  if (refusal !== null) {
    const at = placeOf(stated, settingPath(checked, refusal.setting), slice.name);
    return [findingOf(new Failure('CONFIG_INVALID', refusal.message, refusal), at)];
  }
  const place = placeOf(stated, ['slices', index, 'metrics'], slice.name);
  const stars = starsOf(slice, lists.metrics, loaded);
  const notes = stars.map(({ pattern, metrics }) => {
    const text = `${standsFor({ pattern, metrics })}: ${namesText(metrics)}`;
    return finding('note', text, null, place);
  });
  const twins = twinsText(stars);
  return twins === null ? notes : [...notes, finding('warning', twins, null, place)];
}

const standsFor = ({ pattern, metrics }: Pick<Star, 'pattern' | 'metrics'>): string =>
  `${pattern} stands for ${countText(metrics.length, 'metric')}`;

/** Says what the stars of each slice stand for in the catalog that the warehouse last saw. */
export async function starNotes({ warehouse, slices }: Config): Promise<Map<string, string>> {
  const stored = await storedMetricsAt(warehouse).catch((thrown: unknown) => textOf(thrown));
  const notes = slices.filter(hasStars).map((slice): [string, string] => {
    if (typeof stored === 'string') return [slice.name, `what * stands for is unknown: ${stored}`];
    const { listed, loaded } = stored;
    if (listed.length === 0) return [slice.name, 'what * stands for is known after the first sync'];
    const lines = starsOf(slice, listed, loaded.get(slice.name)).map(
      ({ pattern, metrics }) => `${standsFor({ pattern, metrics })}: ${metrics.join(', ')}`,
    );
    return [slice.name, lines.map((line) => wrapped(line, NOTE_WIDTH)).join('\n')];
  });
  return new Map(notes);
}

function sliceWorks(slices: readonly Slice[], { metrics }: CatalogLists): Finding[] {
  if (metrics.size === 0)
    return [finding('untried', 'the names in the slices, as filters-data listed no metric')];
  const known = slices.filter((slice) => slice.metrics.every((metric) => metrics.has(metric)));
  const names = new Set(known.flatMap((slice) => slice.metrics));
  const message = `${countText(known.length, 'slice')}, ${countText(names.size, 'metric')} known`;
  return known.length === 0 ? [] : [finding('works', message)];
}
