/** A slice's names held against filters-data: metrics, dimensions, and those it filters, sorts and indexes by; pure. */

import { nearest } from '../config/nearest.ts';
import { parameterNames, parseFilterKey } from '../config/report-settings.ts';
import { dimensionFilters, dimensions, metricFilters } from '../model/dimension.ts';
import { NameList, type CatalogLists } from './catalog-lists.ts';
import { pathOf, settingPath, type CheckedSlice } from './checked-slice.ts';
import { valueRemarks } from './values.ts';
import type { Remark } from './finding.ts';

const documentedDimensions = new NameList(dimensions);

/**
 * What the service would refuse or might not know. An unknown metric is an error, as it fails the whole request; an
 * unknown dimension or value is a warning, as the service's own lists drift (observed: enumerations drift). A
 * list that filters-data left empty or did not answer proves nothing.
 */
export function sliceRemarks(checked: CheckedSlice, lists: CatalogLists): Remark[] {
  const { slice } = checked;
  return [
    ...namesIn(checked, 'metrics').flatMap((name) =>
      metricRemarks(checked, lists, { name, key: 'metrics', taken: slice.metrics }),
    ),
    ...namesIn(checked, 'dimensions').flatMap((name) =>
      dimensionRemarks(checked, lists, { name, key: 'dimensions', taken: slice.dimensions }),
    ),
    ...Object.keys(slice.parameters).flatMap((key) => filterRemarks(checked, lists, key)),
    ...valueRemarks(checked, lists),
    ...orderRemarks(checked),
    ...extraRemarks(checked),
    ...attributionRemarks(checked),
  ];
}

/** The names a slice asks for; without what stands in for a list of which nothing could be read. */
function namesIn({ slice, index, stated }: CheckedSlice, key: 'metrics' | 'dimensions'): readonly string[] {
  const list = stated.valueAt(['slices', index, key]);
  return Array.isArray(list) ? slice[key].filter((name) => list.includes(name)) : slice[key];
}

/** A name, the setting it stands under, and the names that are asked for already, which nobody can have meant. */
interface Named {
  readonly name: string;
  readonly key: string;
  readonly taken: readonly string[];
}

function metricRemarks(checked: CheckedSlice, lists: CatalogLists, { name, key, taken }: Named): Remark[] {
  if (lists.metrics.isEmpty) return [];
  const place = placeOf(checked, name, key);
  const standing = lists.metrics.standingOf(name);
  if (standing.kind === 'listed') return [];
  if (standing.kind === 'other letters') return [otherLetters(place, { name, key, taken }, standing.name)];
  const isDimension = documentedDimensions.has(name) || lists.of('dimensions').has(name);
  const hint = isDimension
    ? `It is a dimension: ${key === 'metrics' ? 'move it to dimensions' : `its filters end in ${dimensionFilters.join(', ')}`}.`
    : meantHint(
        like(key, lists.metrics.nearest(name)),
        taken,
        'Correct or remove it; `ripen catalog WORD` searches the metrics.',
      );
  const silent = lists.silentMetricLists;
  if (silent.length > 0 && !isDimension) {
    const message = `filters-data listed no metric ${name}, but nothing at all under ${silent.join(', ')}; the service refuses a whole report for a metric it does not know`;
    return [{ severity: 'warning', ...place, message, hint }];
  }
  const message = `filters-data listed no metric ${name}; the service would refuse the whole report`;
  return [{ severity: 'error', code: 'SOURCE_REFUSED', ...place, message, hint }];
}

function dimensionRemarks(checked: CheckedSlice, lists: CatalogLists, { name, key, taken }: Named): Remark[] {
  const place = placeOf(checked, name, key);
  const answered = lists.of('dimensions');
  // What is documented may be filtered by without being a dimension to group by.
  if (key !== 'dimensions' && documentedDimensions.has(name)) return [];
  const known = answered.isEmpty ? documentedDimensions : answered;
  const standing = known.standingOf(name);
  if (standing.kind === 'listed') return [];
  if (standing.kind === 'other letters') return [otherLetters(place, { name, key, taken }, standing.name)];
  const message = answered.isEmpty
    ? `no dimension ${name} is documented, and filters-data listed none; it is sent as written`
    : `filters-data listed no dimension ${name}; it is sent as written`;
  const asMetric = `It is a metric: ${key === 'dimensions' ? 'move it to metrics' : `its filters end in ${metricFilters.join(', ')}`}.`;
  const hint = lists.metrics.has(name)
    ? asMetric
    : meantHint(
        like(key, known.nearest(name)),
        taken,
        answered.isEmpty ? null : '`ripen catalog WORD` searches the dimensions.',
      );
  return [{ severity: 'warning', ...place, message, hint }];
}

/** The name of a filter, as one of the metrics or dimensions; a slice may filter by what it does not ask for. */
function filterRemarks(checked: CheckedSlice, lists: CatalogLists, key: string): Remark[] {
  const filter = parseFilterKey(key);
  if (filter === null) return [];
  const named = { name: filter.name, key, taken: [] };
  return filter.kind === 'metric' ? metricRemarks(checked, lists, named) : dimensionRemarks(checked, lists, named);
}

/** What an answer is sorted or indexed by without being asked for. */
function orderRemarks(checked: CheckedSlice): Remark[] {
  const { dimensions: asked, metrics, parameters } = checked.slice;
  const remark = (key: string, item: string, allowed: readonly string[]): Remark[] => {
    const name = key === 'sort' ? item.replace(/^-/, '') : item;
    if (allowed.includes(name)) return [];
    const message = `names ${name}, which the slice does not ask for; the service may refuse the whole report`;
    const near = nearest(name, allowed);
    const hint = near === null ? `Ask for it, or leave it out of ${key}.` : `Did you mean ${near}?`;
    return [{ severity: 'warning', path: settingPath(checked, key, item), message: `${key} ${message}`, hint }];
  };
  return [
    ...itemsOf(parameters, 'sort').flatMap((item) => remark('sort', item, [...asked, ...metrics])),
    ...itemsOf(parameters, 'index').flatMap((item) => remark('index', item, asked)),
  ];
}

/** Whatever is passed on under `extra_parameters` is unknown by design; one that nearly has a name of its own is a slip. */
function extraRemarks(checked: CheckedSlice): Remark[] {
  return Object.keys(checked.slice.parameters).flatMap((key): Remark[] => {
    const path = settingPath(checked, key);
    const near = path.at(-2) === 'extra_parameters' ? nearest(key, parameterNames) : null;
    if (near === null || parameterNames.some((name) => name === key)) return [];
    const message = `${key} is no documented parameter; it is sent as written`;
    return [{ severity: 'warning', path, at: 'key', message, hint: `Did you mean ${near}?` }];
  });
}

/** The older parameter and the list that replaces it (observed: attribution_type): which of the two counts is not documented. */
function attributionRemarks(checked: CheckedSlice): Remark[] {
  const { parameters } = checked.slice;
  if (!['attribution_type', 'attribution_types'].every((name) => Object.hasOwn(parameters, name))) return [];
  const path = settingPath(checked, 'attribution_types');
  const message = `attribution_types is sent beside attribution_type=${parameters['attribution_type']}; which of them counts is not documented`;
  return [
    { severity: 'warning', path, at: 'key', message, hint: 'Set attribution_type: null to send the list alone.' },
  ];
}

function itemsOf(parameters: Readonly<Record<string, string>>, key: string): string[] {
  const text = Object.hasOwn(parameters, key) ? parameters[key] : undefined;
  return text === undefined ? [] : [...new Set(text.split(','))];
}

/** Of a list the item, of a filter its key. */
function placeOf(checked: CheckedSlice, name: string, key: string): Pick<Remark, 'path' | 'at'> {
  if (key !== 'metrics' && key !== 'dimensions') return { path: settingPath(checked, key), at: 'key' };
  const names = checked.slice[key];
  const list = [...pathOf(checked), key];
  const stated = checked.stated.valueAt(list);
  const items: readonly unknown[] = Array.isArray(stated) ? stated : names;
  const position = items.indexOf(name);
  return { path: position === -1 ? list : [...list, position] };
}

function otherLetters(place: Pick<Remark, 'path' | 'at'>, { name, key, taken }: Named, listed: string): Remark {
  const message = `filters-data listed ${listed}, not ${name}; the service may tell letters apart`;
  return { severity: 'warning', ...place, message, hint: meantHint(like(key, listed), taken, null) };
}

/** A name as it would be written under a setting: with its suffix, if that is a filter. */
function like(key: string, name: string | null): string | null {
  const filter = parseFilterKey(key);
  return name === null || filter === null ? name : `${name}__${filter.suffix}`;
}

/** Advice to write another name; one that is asked for already would only be there twice. */
function meantHint(meant: string | null, taken: readonly string[], otherwise: string | null): string | null {
  if (meant === null) return otherwise;
  return taken.includes(meant) ? `Remove it; ${meant} is asked for already.` : `Did you mean ${meant}?`;
}
