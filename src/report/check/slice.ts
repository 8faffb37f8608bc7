/** Checks a slice against filters-data and its own dates. Pure. */

import { nearest } from '../../config/nearest.ts';
import { itemsOf, type SettingPath } from '../../config/config-problems.ts';
import { documentedValues, leftToService } from '../../config/report-settings.ts';
import type { StatedSettings } from '../../config/read-config.ts';
import { dayAt, MS_PER_DAY } from '../../model/calendar.ts';
import {
  type Catalog,
  type CatalogFilter,
  dimensionValues,
  metricFilterNames,
} from '../../model/catalog.ts';
import { dimensions as documentedDimensions, parseFilterKey } from '../../model/dimension.ts';
import { isMetricItem, metricsOf } from '../../model/metric.ts';
import { resolveDatePeriod } from '../../model/period.ts';
import type { Slice } from '../../model/slice.ts';
import { alike } from '../../model/alike.ts';
import { durationText, namesText } from '../../model/measure.ts';
import { finding, type Finding, type FindingPlace, placeOf } from './finding.ts';

type ListedNames = ReadonlySet<string>;

/** Of rows without a partner, network or country (observed: organic, odd values). */
const placeholders = ['-300', 'Organic', 'unknown', 'Expired Attributions', 'Unknown Devices'];

/** Other names of parameters in filters-data. */
const listNames = new Map([
  ['attribution_types', 'attribution_type'],
  ['currency', 'currencies'],
]);

export class CatalogLists {
  readonly catalog: Catalog;
  readonly metrics: ListedNames;
  /** Metric lists without items, to which an unlisted metric may belong. */
  readonly silent: readonly CatalogFilter[];

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    this.metrics = new Set(catalog.filter(isMetricItem).map(({ id }) => id));
    this.silent = metricFilterNames.filter((filter) => this.of(filter).length === 0);
  }

  of(filter: string, field: 'id' | 'name' = 'id'): readonly string[] {
    const names = this.catalog.filter((item) => item.filter === filter).map((item) => item[field]);
    return names.filter((name) => name !== '');
  }

  valuesOf(key: string, filter: ReturnType<typeof parseFilterKey>): ListedNames {
    if (filter === null) {
      // An offset from UTC is a number, whatever the service lists.
      const listed = key === 'utc_offset' ? [] : this.of(listNames.get(key) ?? key);
      return new Set([...listed, ...(documentedValues.get(key) ?? [])]);
    }
    const isExact = filter.suffix === 'in' || filter.suffix === 'not_in';
    const source = isExact ? dimensionValues.get(filter.name) : undefined;
    const listed = source === undefined ? [] : this.of(...source);
    return new Set(listed.length === 0 ? [] : [...listed, ...placeholders]);
  }
}

const UNLISTED = 'is neither in filters-data nor documented; it is sent as written';

interface CheckedSlice {
  readonly slice: Slice;
  readonly index: number;
  readonly stated: StatedSettings;
  readonly lists: CatalogLists;
}

/** Of one item of its list, if it is set as one (default: the slice itself). */
export function settingPath(
  { index, stated }: CheckedSlice,
  key: string,
  item?: string,
): SettingPath {
  const levels: SettingPath[] = [['slices', index], ['defaults']];
  const path = levels
    .flatMap((level) => [
      [...level, key],
      [...level, 'filters', key],
      [...level, 'extra_parameters', key],
    ])
    .find((each) => stated.valueAt(each) !== undefined);
  if (path === undefined) return ['slices', index];
  const position = itemsOf(stated.valueAt(path)).findIndex((each) => String(each) === item);
  return position === -1 ? path : [...path, position];
}

export function sliceFindings(checked: CheckedSlice, planAt: Date): Finding[] {
  const { slice, index, stated, lists } = checked;
  const { cube, datePeriod, utcOffset, parameters, retainDays, settleMs } = slice;
  const at = (path: SettingPath, which?: 'key') => placeOf(stated, path, slice.name, which);
  const settingAt = (key: string, item?: string) => at(settingPath(checked, key, item));
  const findings: Finding[] = [];
  const warn = (message: string, hint: string | null, place: FindingPlace) =>
    void findings.push(finding('warning', message, hint, place));

  if (cube === undefined) {
    for (const name of slice.metrics)
      findings.push(...metricFindings(lists, [name], settingAt('metrics', name)));
  }
  for (const ofKey of alike(cube ?? [], ({ cohort }) => cohort)) {
    const names = ofKey.map(({ metric }) => metric);
    const place = at(['slices', index, 'cohorts', ofKey[0].cohort], 'key');
    findings.push(...metricFindings(lists, names, place));
  }
  for (const name of slice.dimensions)
    findings.push(...dimensionFindings(lists, name, settingAt('dimensions', name)));

  for (const [key, value] of Object.entries(parameters)) {
    const filter = parseFilterKey(key);
    const place = at(settingPath(checked, key), 'key');
    if (filter?.kind === 'metric') findings.push(...metricFindings(lists, [filter.name], place));
    if (filter?.kind === 'dimension')
      findings.push(...dimensionFindings(lists, filter.name, place));
    const values = lists.valuesOf(key, filter);
    for (const text of new Set(value.split(','))) {
      if (values.size === 0 || values.has(text)) continue;
      const meant = nearest(text, values);
      const hint = meant === null ? null : `Did you mean ${meant}?`;
      warn(`${key}: the value ${text} ${UNLISTED}`, hint, settingAt(key, text));
    }
  }

  // Which of the two counts is not documented (observed: attribution_type).
  const { attribution_type: older, attribution_types: list } = parameters;
  if (older !== undefined && list !== undefined) {
    const message = `attribution_types is sent beside attribution_type=${older}; which of them counts is not documented`;
    const place = at(settingPath(checked, 'attribution_types'), 'key');
    warn(message, 'Set attribution_type: null to send the list alone.', place);
  }

  const isMoving = !('day' in datePeriod.first) && !('day' in datePeriod.last);
  if (!isMoving && resolveDatePeriod(slice, planAt) === null) {
    warn(
      `the date period covers no day as of ${dayAt(planAt, utcOffset)} in ${utcOffset}`,
      'Begin with a date in the past, and end with a later one or with what moves on, such as yesterday.',
      settingAt('date_period'),
    );
  }

  const keptMs = (retainDays ?? Infinity) * MS_PER_DAY;
  const late = metricsOf(slice, lists.catalog.filter(isMetricItem)).filter(
    ({ horizonMs }) => horizonMs !== null && horizonMs + settleMs > keptMs,
  );
  if (late.length > 0) {
    const longest = durationText(Math.max(...late.map(({ horizonMs }) => horizonMs ?? 0)));
    const names = namesText(late.map(({ id }) => id));
    const message = `periods are removed after ${retainDays} days, but ${names} may change for ${longest}; they never become final`;
    warn(message, `Raise retain above ${longest}, or lower the horizon.`, settingAt('retain'));
  }

  const omitted = leftToService(slice);
  if (omitted.length > 0) {
    const message = `left to the service's own default: ${omitted.join(', ')}`;
    // Left out, it doubled a report beside the dashboard (observed: reattributed).
    const isDoubling = omitted.includes('reattributed');
    const hint = isDoubling
      ? 'State reattributed: all, true or false: by default reattributed users may count twice.'
      : null;
    findings.push(finding(isDoubling ? 'warning' : 'note', message, hint, at(['slices', index])));
  }
  return findings;
}

function meantHint(name: string, listed: ListedNames, noun: 'metric' | 'dimension') {
  const near = nearest(name, listed);
  return near === null ? `\`ripen catalog WORD\` searches the ${noun}s.` : `Did you mean ${near}?`;
}

/** One error per place, as the service refuses the whole report for each unknown metric. */
function metricFindings(
  { metrics, silent }: CatalogLists,
  names: readonly string[],
  place: FindingPlace,
) {
  const unknown = names.filter((name) => !metrics.has(name));
  const [first] = unknown;
  if (metrics.size === 0 || first === undefined) return [];
  const hint = meantHint(first, metrics, 'metric');
  const message = `filters-data listed no metric ${namesText(unknown)}`;
  const refusal = `${message}; the service would refuse the whole report`;
  if (silent.length === 0) return [finding('SOURCE_REFUSED', refusal, hint, place)];
  const why = `but nothing at all under ${silent.join(', ')}; the service refuses a whole report for a metric it does not know`;
  return [finding('warning', `${message}, ${why}`, hint, place)];
}

/** Only a warning, as the service's own lists drift (observed: enumerations drift). */
function dimensionFindings(lists: CatalogLists, name: string, place: FindingPlace) {
  const known = new Set([...lists.of('dimensions'), ...documentedDimensions]);
  if (known.has(name)) return [];
  const message = `the dimension ${name} ${UNLISTED}`;
  return [finding('warning', message, meantHint(name, known, 'dimension'), place)];
}
