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
import { durationText, namesText } from '../terminal/measure.ts';
import { type CatalogLists, type ListedNames, oddValues } from './catalog-lists.ts';
import { finding, type Finding, type FindingPlace, placeOf } from './finding.ts';

/** A slice as `check` looks at it: what it became, and where each of its settings stands. */
export interface CheckedSlice {
  readonly slice: Slice;
  /** Its place in the list of slices. */
  readonly index: number;
  readonly stated: StatedSettings;
  readonly lists: CatalogLists;
}

const at = ({ stated, slice }: CheckedSlice, path: SettingPath, which: 'key' | 'value' = 'value'): FindingPlace =>
  placeOf(stated, path, slice.name, which);

/** Where a setting is stated, in the slice or in the defaults; of a list, where one item of it is. The slice itself for none. */
function settingPath({ index, stated }: CheckedSlice, key: string, item?: string): SettingPath {
  const levels: SettingPath[] = [['slices', index], ['defaults']];
  const paths = levels.flatMap((level) => [
    [...level, key],
    [...level, 'filters', key],
    [...level, 'extra_parameters', key],
  ]);
  const path = paths.find((each) => stated.valueAt(each) !== undefined);
  if (path === undefined) return ['slices', index];
  const value = stated.valueAt(path);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const position = items.findIndex((each) => String(each) === item);
  return position === -1 ? path : [...path, position];
}

/** Everything odd about a slice at an instant. A list that filters-data left empty or did not answer proves nothing. */
export function sliceFindings(checked: CheckedSlice, catalog: Catalog, planAt: Date): Finding[] {
  const { slice, lists } = checked;
  const metrics = metricsOf(slice, catalog.filter(isMetricItem));
  const named = slice.cube === undefined ? slice.metrics : [];
  return [
    ...named.flatMap((name) => metricFindings(checked, name, 'metrics')),
    ...cohortFindings(checked),
    ...slice.dimensions.flatMap((name) => dimensionFindings(checked, name, 'dimensions')),
    ...Object.entries(slice.parameters).flatMap(([key, value]) => parameterFindings(checked, key, value)),
    ...attributionFindings(checked),
    ...periodFindings(checked, planAt),
    ...horizonFindings(checked),
    ...retainFindings(checked, metrics),
    ...formFindings(
      checked,
      metrics.filter(({ id }) => lists.metrics.has(id)),
    ),
    ...leftFindings(checked),
  ];
}

/** Of each key of a cube the first age that is not listed, and how many others are not. */
function cohortFindings(checked: CheckedSlice): Finding[] {
  const { slice, index } = checked;
  const keys = new Set(slice.cube?.map(({ cohort }) => cohort));
  return [...keys].flatMap((key) => {
    const ofKey = slice.cube?.filter(({ cohort }) => cohort === key) ?? [];
    const [first, ...others] = ofKey.flatMap(({ metric }) => metricFindings(checked, metric, 'cohorts'));
    if (first === undefined) return [];
    const more = others.length === 0 ? '' : `; nor did it list ${others.length} other ages of ${key}`;
    return [{ ...first, ...at(checked, ['slices', index, 'cohorts', key], 'key'), message: first.message + more }];
  });
}

/** A name as it would be written under a setting: with its suffix, where that is a filter. */
function meantHint(key: string, meant: string | null, otherwise: string): string {
  const suffix = parseFilterKey(key)?.suffix;
  return meant === null ? otherwise : `Did you mean ${suffix === undefined ? meant : `${meant}__${suffix}`}?`;
}

/** Of a list the item, of a filter its key. */
const atName = (checked: CheckedSlice, name: string, key: string): FindingPlace =>
  at(checked, settingPath(checked, key, name), key === 'metrics' || key === 'dimensions' ? 'value' : 'key');

/** An unknown metric is an error, as it fails the whole request. */
function metricFindings(checked: CheckedSlice, name: string, key: string): Finding[] {
  const { metrics, silent } = checked.lists;
  if (metrics.size === 0 || metrics.has(name)) return [];
  const isDimension = documentedDimensions.some((each) => each === name) || checked.lists.of('dimensions').has(name);
  const hint = isDimension
    ? 'It is a dimension: move it there.'
    : meantHint(key, nearest(name, metrics), 'Correct or remove it; `ripen catalog WORD` searches the metrics.');
  const place = atName(checked, name, key);
  if (silent.length > 0 && !isDimension) {
    const message = `filters-data listed no metric ${name}, but nothing at all under ${silent.join(', ')}; the service refuses a whole report for a metric it does not know`;
    return [finding('warning', message, hint, place)];
  }
  const message = `filters-data listed no metric ${name}; the service would refuse the whole report`;
  return [{ ...finding('error', message, hint, place), code: 'SOURCE_REFUSED' }];
}

/** An unknown dimension is a warning, as the service's own lists drift (observed: enumerations drift). */
function dimensionFindings(checked: CheckedSlice, name: string, key: string): Finding[] {
  const listed = checked.lists.of('dimensions');
  const documented: ListedNames = new Set<string>(documentedDimensions);
  // What is documented may be filtered by without being a dimension to group by.
  if (listed.has(name) || ((listed.size === 0 || key !== 'dimensions') && documented.has(name))) return [];
  const what =
    listed.size === 0
      ? `no dimension ${name} is documented, and filters-data listed none`
      : `filters-data listed no dimension ${name}`;
  const near = nearest(name, listed.size === 0 ? documented : listed);
  const hint = checked.lists.metrics.has(name)
    ? 'It is a metric: move it there.'
    : meantHint(key, near, '`ripen catalog WORD` searches the dimensions.');
  return [finding('warning', `${what}; it is sent as written`, hint, atName(checked, name, key))];
}

/** The name of a filter, and values of a parameter or an exact filter that filters-data lists otherwise or not at all. */
function parameterFindings(checked: CheckedSlice, key: string, value: string): Finding[] {
  const filter = parseFilterKey(key);
  const known = checked.lists.valuesOf(key, filter);
  const values = [...new Set(value.split(','))];
  const unknown = values.filter(
    (text) => known.size > 0 && !known.has(text) && !(filter !== null && oddValues.has(text)),
  );
  const ofName = filter?.kind === 'metric' ? metricFindings : dimensionFindings;
  return [
    // A slice may filter by what it does not request.
    ...(filter === null ? [] : ofName(checked, filter.name, key)),
    ...unknown.map((text) => {
      const near = nearest(text, known);
      const hint = near === null ? null : values.includes(near) ? `Remove ${text}.` : `Did you mean ${near}?`;
      const message = `${key}: the value ${text} is neither in filters-data nor documented; it is sent as written`;
      return finding('warning', message, hint, at(checked, settingPath(checked, key, text)));
    }),
  ];
}

/** The older parameter and the list that replaces it (observed: attribution_type): which of the two counts is not documented. */
function attributionFindings(checked: CheckedSlice): Finding[] {
  const { attribution_type: older, attribution_types: list } = checked.slice.parameters;
  if (older === undefined || list === undefined) return [];
  const message = `attribution_types is sent beside attribution_type=${older}; which of them counts is not documented`;
  const place = at(checked, settingPath(checked, 'attribution_types'), 'key');
  return [finding('warning', message, 'Set attribution_type: null to send the list alone.', place)];
}

/** A date period that covers nothing yet, or nothing any more. */
function periodFindings(checked: CheckedSlice, planAt: Date): Finding[] {
  const { datePeriod, utcOffset } = checked.slice;
  const place = at(checked, settingPath(checked, 'date_period'));
  const reversed = reversedAt(datePeriod, planAt, utcOffset);
  if (reversed !== null && 'day' in datePeriod.last && !('day' in datePeriod.first)) {
    const message = `the date period begins on ${reversed.first}, as of today, and ended on ${reversed.last}: it never gets another day`;
    return [finding('warning', message, 'Begin with a date, or end with what moves on, such as yesterday.', place)];
  }
  if (!('day' in datePeriod.first) || resolveDatePeriod(datePeriod, planAt, utcOffset) !== null) return [];
  const message = `the date period covers no day yet; today is ${dayAt(planAt, utcOffset)} in ${utcOffset}`;
  return [finding('warning', message, 'Let it begin earlier, if that is not meant.', place)];
}

/** Horizons that one before them leaves without effect: the first that matches counts. */
function horizonFindings(checked: CheckedSlice): Finding[] {
  const levels: SettingPath[] = [['slices', checked.index], ['defaults']];
  return levels.flatMap((level) => {
    const stated = checked.stated.valueAt([...level, 'horizons']);
    const keys = Object.keys(isMapping(stated) ? stated : {});
    const patterns = keys.filter((key) => key !== 'settle' && key !== 'lifetime');
    return patterns.flatMap((pattern, index) => {
      const before = patterns.slice(0, index).find((earlier) => globMatches(earlier, pattern));
      if (before === undefined) return [];
      const message = `the horizon of ${pattern} has no effect, as ${before} stands before it and matches the same metrics`;
      const hint = `Put it before ${before}; the first that matches counts.`;
      return [finding('warning', message, hint, at(checked, [...level, 'horizons', pattern], 'key'))];
    });
  });
}

function retainFindings(checked: CheckedSlice, metrics: readonly Metric[]): Finding[] {
  const { retainDays, settleMs } = checked.slice;
  if (retainDays === null) return [];
  const late = metrics.filter(({ horizonMs }) => horizonMs !== null && horizonMs + settleMs > retainDays * MS_PER_DAY);
  if (late.length === 0) return [];
  const longest = durationText(Math.max(...late.map(({ horizonMs }) => horizonMs ?? 0)));
  const names = namesText(late.map(({ id }) => id));
  const message = `periods are removed after ${retainDays} days, but ${names} may change for ${longest}; they never become final`;
  const hint = `Raise retain above ${longest}, or lower the horizon.`;
  return [finding('warning', message, hint, at(checked, settingPath(checked, 'retain')))];
}

/** Metrics that the service lists and of whose form nothing is documented. */
function formFindings(checked: CheckedSlice, metrics: readonly Metric[]): Finding[] {
  const text = unknownFormsText(metrics, checked.slice);
  if (text === null) return [];
  const hint = 'State under `horizons` how long after a period ends each may still change.';
  return [finding('warning', `METRIC_FORM_UNKNOWN: ${text}`, hint, at(checked, settingPath(checked, 'metrics')))];
}

/** Leaving this one out has doubled a report against the dashboard (observed: reattributed). */
const DOUBLING = 'reattributed';

function leftFindings(checked: CheckedSlice): Finding[] {
  const left = leftToService(checked.slice);
  const others = left.filter((parameter) => parameter !== DOUBLING);
  const place = at(checked, ['slices', checked.index]);
  const message = `${DOUBLING} is left to the service's own default, which may count reattributed users twice`;
  const hint = `State ${DOUBLING}: all, true or false, in the slice or under defaults.`;
  const note = `left to the service's own default: ${others.join(', ')}`;
  return [
    ...(left.includes(DOUBLING) ? [finding('warning', message, hint, place)] : []),
    ...(others.length > 0 ? [finding('note', note, null, place)] : []),
  ];
}
