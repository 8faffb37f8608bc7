/** A slice compared with filters-data and with its own dates: what the service would refuse, might not know, or never let become final; pure. */

import { nearest } from '../config/nearest.ts';
import { isMapping, type SettingPath } from '../config/config-problems.ts';
import { leftToService, parseFilterKey } from '../config/report-settings.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { dayAt, MS_PER_DAY } from '../model/calendar.ts';
import type { Catalog } from '../model/catalog.ts';
import { dimensions as documentedDimensions } from '../model/dimension.ts';
import { globMatches, isMetricItem, metricsOf, type Metric, unknownFormsText } from '../model/metric.ts';
import { resolveDatePeriod, reversedAt } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { durationText } from '../terminal/measure.ts';
import { type CatalogLists, filterNames, type ListedNames, oddValues, parameterNames } from './catalog-lists.ts';
import type { Remark } from './finding.ts';

/** A slice as `check` looks at it: what it became, and where each of its settings stands. */
export interface CheckedSlice {
  readonly slice: Slice;
  /** Its place in the list of slices. */
  readonly index: number;
  readonly stated: StatedSettings;
}

/** Where the slice stands. */
export const pathOf = ({ index }: Pick<CheckedSlice, 'index'>): SettingPath => ['slices', index];

/** Where a setting is stated, in the slice or in the defaults; of a list, where one item of it is. The slice itself for none. */
function settingPath(checked: CheckedSlice, key: string, item?: string): SettingPath {
  const levels: SettingPath[] = [pathOf(checked), ['defaults']];
  const paths = levels.flatMap((level) => [
    [...level, key],
    [...level, 'filters', key],
    [...level, 'extra_parameters', key],
  ]);
  const path = paths.find((each) => checked.stated.valueAt(each) !== undefined);
  if (path === undefined) return pathOf(checked);
  const value = checked.stated.valueAt(path);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const position = items.findIndex((each) => String(each) === item);
  return position === -1 ? path : [...path, position];
}

/** Everything odd about a slice at an instant. A list that filters-data left empty or did not answer proves nothing. */
export function sliceRemarks(checked: CheckedSlice, catalog: Catalog, lists: CatalogLists, planAt: Date): Remark[] {
  const { slice } = checked;
  const items = catalog.filter(isMetricItem);
  const metrics = metricsOf(slice, items);
  const listed = metrics.filter(({ id }) => lists.metrics.has(id));
  return [
    ...(slice.cube === undefined ? slice.metrics : []).flatMap((name) =>
      metricRemarks(checked, lists, name, 'metrics'),
    ),
    ...cohortRemarks(checked, lists),
    ...slice.dimensions.flatMap((name) => dimensionRemarks(checked, lists, name, 'dimensions')),
    ...Object.keys(slice.parameters).flatMap((key) => filterRemarks(checked, lists, key)),
    ...Object.entries(slice.parameters).flatMap(([key, value]) => valueRemarks(checked, lists, key, value)),
    ...attributionRemarks(checked),
    ...periodRemarks(checked, planAt),
    ...horizonRemarks(checked),
    ...retainRemarks(checked, metrics),
    ...formRemarks(checked, listed),
    ...leftRemarks(checked),
  ];
}

/** Of each key of a cube the first age that is not listed, and how many others are not. */
function cohortRemarks(checked: CheckedSlice, lists: CatalogLists): Remark[] {
  const { slice, index } = checked;
  const keys = new Set(slice.cube?.map(({ cohort }) => cohort));
  return [...keys].flatMap((key) => {
    const ofKey = slice.cube?.filter(({ cohort }) => cohort === key) ?? [];
    const [first, ...others] = ofKey.flatMap(({ metric }) => metricRemarks(checked, lists, metric, 'cohorts'));
    if (first === undefined) return [];
    const more = others.length === 0 ? '' : `; nor did it list ${others.length} other ages of ${key}`;
    return [{ ...first, message: first.message + more, path: ['slices', index, 'cohorts', key], at: 'key' as const }];
  });
}

/** A name as it would be written under a setting: with its suffix, where that is a filter. */
function meantHint(key: string, meant: string | null, otherwise: string): string {
  const suffix = parseFilterKey(key)?.suffix;
  return meant === null ? otherwise : `Did you mean ${suffix === undefined ? meant : `${meant}__${suffix}`}?`;
}

/** Of a list the item, of a filter its key. */
function placeOf(checked: CheckedSlice, name: string, key: string): Pick<Remark, 'path' | 'at'> {
  const isList = key === 'metrics' || key === 'dimensions';
  return { path: settingPath(checked, key, name), at: isList ? 'value' : 'key' };
}

/** An unknown metric is an error, as it fails the whole request. */
function metricRemarks(checked: CheckedSlice, lists: CatalogLists, name: string, key: string): Remark[] {
  if (lists.metrics.size === 0 || lists.metrics.has(name)) return [];
  const place = placeOf(checked, name, key);
  const isDimension = documentedDimensions.some((each) => each === name) || lists.of('dimensions').has(name);
  const hint = isDimension
    ? 'It is a dimension: move it there.'
    : meantHint(key, nearest(name, lists.metrics), 'Correct or remove it; `ripen catalog WORD` searches the metrics.');
  const { silent } = lists;
  if (silent.length > 0 && !isDimension) {
    const message = `filters-data listed no metric ${name}, but nothing at all under ${silent.join(', ')}; the service refuses a whole report for a metric it does not know`;
    return [{ severity: 'warning', ...place, message, hint }];
  }
  const message = `filters-data listed no metric ${name}; the service would refuse the whole report`;
  return [{ severity: 'error', code: 'SOURCE_REFUSED', ...place, message, hint }];
}

/** An unknown dimension is a warning, as the service's own lists drift (observed: enumerations drift). */
function dimensionRemarks(checked: CheckedSlice, lists: CatalogLists, name: string, key: string): Remark[] {
  const answered = lists.of('dimensions');
  const documented: ListedNames = new Set<string>(documentedDimensions);
  // What is documented may be filtered by without being a dimension to group by.
  if (answered.has(name) || ((answered.size === 0 || key !== 'dimensions') && documented.has(name))) return [];
  const known = answered.size === 0 ? documented : answered;
  const message =
    answered.size === 0
      ? `no dimension ${name} is documented, and filters-data listed none; it is sent as written`
      : `filters-data listed no dimension ${name}; it is sent as written`;
  const hint = lists.metrics.has(name)
    ? 'It is a metric: move it there.'
    : meantHint(key, nearest(name, known), '`ripen catalog WORD` searches the dimensions.');
  return [{ severity: 'warning', ...placeOf(checked, name, key), message, hint }];
}

/** The name of a filter, as one of the metrics or dimensions; a slice may filter by what it does not request. */
function filterRemarks(checked: CheckedSlice, lists: CatalogLists, key: string): Remark[] {
  const filter = parseFilterKey(key);
  if (filter === null) return [];
  const remarks = filter.kind === 'metric' ? metricRemarks : dimensionRemarks;
  return remarks(checked, lists, filter.name, key);
}

/** Values of a parameter or an exact filter that filters-data lists otherwise or not at all. */
function valueRemarks(checked: CheckedSlice, lists: CatalogLists, key: string, value: string): Remark[] {
  const filter = parseFilterKey(key);
  const known = filter === null ? parameterNames(key, lists) : filterNames(filter, lists);
  const values = [...new Set(value.split(','))];
  return values.flatMap((text): Remark[] => {
    if (known.size === 0 || known.has(text) || (filter !== null && oddValues.has(text))) return [];
    const near = nearest(text, known);
    const hint = near === null ? null : values.includes(near) ? `Remove ${text}.` : `Did you mean ${near}?`;
    const message = `${key}: the value ${text} is neither in filters-data nor documented; it is sent as written`;
    return [{ severity: 'warning', path: settingPath(checked, key, text), message, hint }];
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

/** A date period that covers nothing yet, or nothing any more. */
function periodRemarks(checked: CheckedSlice, planAt: Date): Remark[] {
  const { datePeriod, utcOffset } = checked.slice;
  const path = settingPath(checked, 'date_period');
  const reversed = reversedAt(datePeriod, planAt, utcOffset);
  if (reversed !== null && 'day' in datePeriod.last && !('day' in datePeriod.first)) {
    const message = `the date period begins on ${reversed.first}, as of today, and ended on ${reversed.last}: it never gets another day`;
    const hint = 'Begin with a date, or end with what moves on, such as yesterday.';
    return [{ severity: 'warning', path, message, hint }];
  }
  if (!('day' in datePeriod.first) || resolveDatePeriod(datePeriod, planAt, utcOffset) !== null) return [];
  const message = `the date period covers no day yet; today is ${dayAt(planAt, utcOffset)} in ${utcOffset}`;
  return [{ severity: 'warning', path, message, hint: 'Let it begin earlier, if that is not meant.' }];
}

/** Horizons that one before them leaves without effect: the first that matches counts. */
function horizonRemarks(checked: CheckedSlice): Remark[] {
  return [pathOf(checked), ['defaults']].flatMap((level) => {
    const stated = checked.stated.valueAt([...level, 'horizons']);
    const patterns = Object.keys(isMapping(stated) ? stated : {}).filter(
      (key) => key !== 'settle' && key !== 'lifetime',
    );
    return patterns.flatMap((pattern, index): Remark[] => {
      const before = patterns.slice(0, index).find((earlier) => globMatches(earlier, pattern));
      if (before === undefined) return [];
      const message = `the horizon of ${pattern} has no effect, as ${before} stands before it and matches the same metrics`;
      const hint = `Put it before ${before}; the first that matches counts.`;
      return [{ severity: 'warning', path: [...level, 'horizons', pattern], at: 'key', message, hint }];
    });
  });
}

/** More names make a message longer, not clearer. */
const MOST_NAMES = 3;

function retainRemarks(checked: CheckedSlice, metrics: readonly Metric[]): Remark[] {
  const { retainDays, settleMs } = checked.slice;
  if (retainDays === null) return [];
  const late = metrics.filter(({ horizonMs }) => horizonMs !== null && horizonMs + settleMs > retainDays * MS_PER_DAY);
  if (late.length === 0) return [];
  const longest = durationText(Math.max(...late.map(({ horizonMs }) => horizonMs ?? 0)));
  const names = late.slice(0, MOST_NAMES).map(({ id }) => id);
  const more = late.length > MOST_NAMES ? ` and ${late.length - MOST_NAMES} more` : '';
  const message = `periods are removed after ${retainDays} days, but ${names.join(', ')}${more} may change for ${longest}; they never become final`;
  const hint = `Raise retain above ${longest}, or lower the horizon.`;
  return [{ severity: 'warning', path: settingPath(checked, 'retain'), message, hint }];
}

/** Metrics that the service lists and of whose form nothing is documented. */
function formRemarks(checked: CheckedSlice, metrics: readonly Metric[]): Remark[] {
  const message = unknownFormsText(metrics, checked.slice);
  const path = settingPath(checked, 'metrics');
  const hint = 'State under `horizons` how long after a period ends each may still change.';
  return message === null ? [] : [{ severity: 'warning', path, message: `METRIC_FORM_UNKNOWN: ${message}`, hint }];
}

/** Leaving this one out has doubled a report against the dashboard (observed: reattributed). */
const DOUBLING = 'reattributed';

function leftRemarks(checked: CheckedSlice): Remark[] {
  const left = leftToService(checked.slice);
  const others = left.filter((parameter) => parameter !== DOUBLING);
  const path = pathOf(checked);
  const message = `${DOUBLING} is left to the service's own default, which may count reattributed users twice`;
  const hint = `State ${DOUBLING}: all, true or false, in the slice or under defaults.`;
  const note = `left to the service's own default: ${others.join(', ')}`;
  return [
    ...(left.includes(DOUBLING) ? [{ severity: 'warning', path, message, hint } as const] : []),
    ...(others.length > 0 ? [{ severity: 'note', path, message: note, hint: null } as const] : []),
  ];
}
