/** Checks a slice against filters-data and its own dates; pure. */

import { nearest } from '../../config/nearest.ts';
import type { SettingPath } from '../../config/config-problems.ts';
import { leftToService, parseFilterKey } from '../../config/report-settings.ts';
import type { StatedSettings } from '../../config/read-config.ts';
import { dayAt, MS_PER_DAY } from '../../model/calendar.ts';
import type { Catalog } from '../../model/catalog.ts';
import { dimensions as documentedDimensions } from '../../model/dimension.ts';
import { isMetricItem, metricsOf, type Metric } from '../../model/metric.ts';
import { resolveDatePeriod } from '../../model/period.ts';
import type { Slice } from '../../model/slice.ts';
import { durationText, namesText } from '../terminal/measure.ts';
import type { CatalogLists, ListedNames } from './catalog-lists.ts';
import { finding, type Finding, type FindingPlace, placeOf } from './finding.ts';

export interface CheckedSlice {
  readonly slice: Slice;
  readonly index: number;
  readonly stated: StatedSettings;
  readonly lists: CatalogLists;
}

const at = (
  { stated, slice }: CheckedSlice,
  path: SettingPath,
  which: 'key' | 'value' = 'value',
): FindingPlace => placeOf(stated, path, slice.name, which);

/** Returns the path of a setting, or of one item of its list (default: the slice's own path). */
export function settingPath(
  { index, stated }: CheckedSlice,
  key: string,
  item?: string,
): SettingPath {
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

export function sliceFindings(checked: CheckedSlice, catalog: Catalog, planAt: Date): Finding[] {
  const { slice, index } = checked;
  const { cube } = slice;
  const keys = new Set(cube?.map(({ cohort }) => cohort));
  return [
    ...(cube === undefined ? slice.metrics : []).flatMap((name) =>
      metricFindings(checked, [name], atName(checked, 'metrics', name)),
    ),
    ...[...keys].flatMap((key) => {
      const ofKey = cube?.filter(({ cohort }) => cohort === key).map(({ metric }) => metric) ?? [];
      return metricFindings(checked, ofKey, at(checked, ['slices', index, 'cohorts', key], 'key'));
    }),
    ...slice.dimensions.flatMap((name) =>
      dimensionFindings(checked, name, atName(checked, 'dimensions', name)),
    ),
    ...Object.entries(slice.parameters).flatMap(([key, value]) =>
      parameterFindings(checked, key, value),
    ),
    ...attributionFindings(checked),
    ...periodFindings(checked, planAt),
    ...retainFindings(checked, metricsOf(slice, catalog.filter(isMetricItem))),
    ...leftFindings(checked),
  ];
}

const atName = (checked: CheckedSlice, key: string, name: string): FindingPlace =>
  at(checked, settingPath(checked, key, name));

const meantHint = (name: string, listed: ListedNames, noun: 'metric' | 'dimension'): string => {
  const near = nearest(name, listed);
  return near === null ? `\`ripen catalog WORD\` searches the ${noun}s.` : `Did you mean ${near}?`;
};

/** One error per place, as the service refuses the whole report for each unknown metric. */
function metricFindings(
  { lists }: CheckedSlice,
  names: readonly string[],
  place: FindingPlace,
): Finding[] {
  const { metrics, silent } = lists;
  const unknown = names.filter((name) => !metrics.has(name));
  const [first] = unknown;
  if (metrics.size === 0 || first === undefined) return [];
  const hint = meantHint(first, metrics, 'metric');
  const message = `filters-data listed no metric ${namesText(unknown)}`;
  if (silent.length > 0) {
    const why = `but nothing at all under ${silent.join(', ')}; the service refuses a whole report for a metric it does not know`;
    return [finding('warning', `${message}, ${why}`, hint, place)];
  }
  return [
    {
      ...finding('error', `${message}; the service would refuse the whole report`, hint, place),
      code: 'SOURCE_REFUSED',
    },
  ];
}

/** Only a warning, as the service's own lists drift (observed: enumerations drift). */
function dimensionFindings({ lists }: CheckedSlice, name: string, place: FindingPlace): Finding[] {
  const known: ListedNames = new Set([...lists.of('dimensions'), ...documentedDimensions]);
  if (known.has(name)) return [];
  const message = `the dimension ${name} is neither in filters-data nor documented; it is sent as written`;
  return [finding('warning', message, meantHint(name, known, 'dimension'), place)];
}

function parameterFindings(checked: CheckedSlice, key: string, value: string): Finding[] {
  const filter = parseFilterKey(key);
  const known = checked.lists.valuesOf(key, filter);
  const unknown = [...new Set(value.split(','))].filter(
    (text) => known.size > 0 && !known.has(text),
  );
  const place = at(checked, settingPath(checked, key), 'key');
  return [
    ...(filter?.kind === 'metric' ? metricFindings(checked, [filter.name], place) : []),
    ...(filter?.kind === 'dimension' ? dimensionFindings(checked, filter.name, place) : []),
    ...unknown.map((text) => {
      const near = nearest(text, known);
      const message = `${key}: the value ${text} is neither in filters-data nor documented; it is sent as written`;
      const hint = near === null ? null : `Did you mean ${near}?`;
      return finding('warning', message, hint, atName(checked, key, text));
    }),
  ];
}

/** Which of the two counts is not documented (observed: attribution_type). */
function attributionFindings(checked: CheckedSlice): Finding[] {
  const { attribution_type: older, attribution_types: list } = checked.slice.parameters;
  if (older === undefined || list === undefined) return [];
  const message = `attribution_types is sent beside attribution_type=${older}; which of them counts is not documented`;
  const place = at(checked, settingPath(checked, 'attribution_types'), 'key');
  return [finding('warning', message, 'Set attribution_type: null to send the list alone.', place)];
}

function periodFindings(checked: CheckedSlice, planAt: Date): Finding[] {
  const { datePeriod, utcOffset } = checked.slice;
  const isMoving = !('day' in datePeriod.first) && !('day' in datePeriod.last);
  if (isMoving || resolveDatePeriod(checked.slice, planAt) !== null) return [];
  const message = `the date period covers no day as of ${dayAt(planAt, utcOffset)} in ${utcOffset}`;
  const hint =
    'Begin with a date in the past, and end with a later one or with what moves on, such as yesterday.';
  return [finding('warning', message, hint, at(checked, settingPath(checked, 'date_period')))];
}

function retainFindings(checked: CheckedSlice, metrics: readonly Metric[]): Finding[] {
  const { retainDays, settleMs } = checked.slice;
  if (retainDays === null) return [];
  const late = metrics.filter(
    ({ horizonMs }) => horizonMs !== null && horizonMs + settleMs > retainDays * MS_PER_DAY,
  );
  if (late.length === 0) return [];
  const longest = durationText(Math.max(...late.map(({ horizonMs }) => horizonMs ?? 0)));
  const names = namesText(late.map(({ id }) => id));
  const message = `periods are removed after ${retainDays} days, but ${names} may change for ${longest}; they never become final`;
  const hint = `Raise retain above ${longest}, or lower the horizon.`;
  return [finding('warning', message, hint, at(checked, settingPath(checked, 'retain')))];
}

/** Left out, it doubled a report beside the dashboard (observed: reattributed). */
const DOUBLING = 'reattributed';

function leftFindings(checked: CheckedSlice): Finding[] {
  const left = leftToService(checked.slice);
  if (left.length === 0) return [];
  const message = `left to the service's own default: ${left.join(', ')}`;
  const place = at(checked, ['slices', checked.index]);
  if (!left.includes(DOUBLING)) return [finding('note', message, null, place)];
  const hint = `State ${DOUBLING}: all, true or false: by default reattributed users may count twice.`;
  return [finding('warning', message, hint, place)];
}
