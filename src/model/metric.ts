/**
 * What ripen knows of a metric: its family, how long its values move, whether they add up over rows, and its type.
 *
 * The catalog decides where it knows (filter name, section, formatting); the name decides otherwise. Event names may
 * hold anything, also something that looks like a cohort period, so an event metric is only a cohort metric when its
 * own suffix says so (observed: Metrics).
 */

import type { Catalog, CatalogItem } from './catalog.ts';
import { metricFilterNames } from './catalog.ts';
import { MS_PER_DAY } from './calendar.ts';
import { BIGINT, type ColumnType, DOUBLE, MONEY, parseColumnType } from './column-type.ts';
import type { Slice } from './slice.ts';

export const metricFamilies = ['cohort', 'spend', 'conversion_value', 'lifetime', 'other'] as const;

export type MetricFamily = (typeof metricFamilies)[number];

/**
 * How it is known whether a metric adds up: `stated` in the configuration, `documented` for the metric, `seen` in answers,
 * or `assumed` from its name.
 */
export const additivities = ['stated', 'documented', 'seen', 'assumed'] as const;

export type Additivity = (typeof additivities)[number];

/** What the warehouse remembers of metrics, so that a catalog that changes overnight makes nothing final. */
export interface RememberedMetrics {
  /** The longest horizon the catalog ever gave, in milliseconds; null: never final. */
  readonly horizons: ReadonlyMap<string, number | null>;
  /** Whether the rows of the slice were seen to add up to totals. */
  readonly addsUp: ReadonlyMap<string, boolean>;
}

export const nothingRemembered: RememberedMetrics = { horizons: new Map(), addsUp: new Map() };

export interface Metric {
  readonly id: string;
  readonly family: MetricFamily;
  /** How long after a period ends the value may still change; null means for ever. */
  readonly horizonMs: number | null;
  /** How long after a period ends its last cohort completes the metric's age; null for a metric without one. */
  readonly cohortMs: number | null;
  /** Whether values add up over rows; ratios, averages and differences do not. */
  readonly additive: boolean;
  /** How that is known; only what is more than an assumption is evidence against an answer. */
  readonly additivity: Additivity;
  readonly type: ColumnType;
}

const OTHER_DAYS = 7;
const SPEND_DAYS = 14;
const CONVERSION_VALUE_DAYS = 42;

/** Longest documented cohort periods, with room; a larger number in a name is no period. */
const longestPeriods = { d: 400, w: 104, m: 60 } as const;
const daysPerUnit = { d: 1, w: 7, m: 30 } as const;

const cohortForm = /_(d|w|m)(\d{1,3})(?:_[a-z_]*cohort|_cal)?$/;
const spendForm =
  /(^|_)(cost|costs|spend|ad_spend|ecp[a-z]|cpi|cpc|cpm|cpa|roas|roi|rpm_margin|gross_profit|profit)(_|$)|^network_|_network$/;
const conversionValueForm = /^(skad|skan)_|(^|_)conversion_values?(_|$)|^conversion_\d+$|(?<!_non)_skan$/;
const lifetimeForm = /^cohort_|lifetime_value|^roas/;
const notAdditiveForm =
  /(^|_)(ecp[a-z]|cp[icma]|cpm|ctr|roas|roi|rpm|arp[a-z]*|ltv|lifetime_value|rate|rates|ratio|avg|average|mavg|daus?|waus?|maus?|diff|share|percent(age)?)(_|$)|_per_|_events_cost_|^mavg_/;
const notAdditiveEventForm = /_(rate|cost)_cohort$|_per_[a-z_]+$/;
const countForm =
  /^(skad_|skad_direct_)?conversion_(value_)?\d+$|_(payloads|qualifiers)$|^(installs|clicks|impressions|sessions|base_sessions|reattributions|reattribution_reinstalls|deattributions|uninstalls|events|revenue_events|renewals|subscriptions|gdpr_forgets|reinstalls)$|_(installs|clicks|impressions|events|users|sessions|reattributions|uninstalls|size)(_|$)|^(rejected|organic|paid|cohort_size|retained|deattributions|reattributions)_/;
/** Metrics that are documented as counts or money of their own (observed: Metrics), which add up over rows. */
const documentedForm =
  /^(installs|clicks|impressions|sessions|base_sessions|reattributions|reattribution_reinstalls|deattributions|uninstalls|gdpr_forgets|renewals|subscriptions|revenue_events|(paid|organic)_installs|paid_impressions|cost|adjust_cost|(install|click|impression|event)_cost|revenue|ad_revenue|all_revenue|cohort_revenue|ad_impressions|network_(cost|installs|clicks|impressions)|skad_installs|(skad_|skad_direct_)?conversion_value_(\d+|total)|rejected_(installs|reattributions)_[a-z_]+(?<!_rate))$/;
const documentedCohortForm =
  /^(revenue|ad_revenue|all_revenue|revenue_events|sessions|installs|cohort_size|retained_users|paying_users|first_paying_users|uninstalls|reattributions|deattributions|time_spent|ad_impressions)(_total)?(_in_cohort)?_[dwm]\d{1,3}$/;
const documentedEventForm = /_(events|revenue)$/;
const moneyForm = /(^|_)(cost|revenue|ad_revenue|ad_spend|spend)(_|$)/;

/** An item's standing among the lists that hold its id: the most specific list knows best what the metric is. */
const listOrder = [
  'event_metrics',
  'cohort_metrics',
  'skad_metrics',
  'cost_metrics',
  'overview_metrics',
  'etl_metrics',
];

/** The metric's item in the catalog, from the most specific of the metric lists that hold it; null when none does. */
export function catalogItemOf(id: string, catalog: Catalog): CatalogItem | null {
  const [best] = catalog
    .filter((item) => item.id === id && isMetricItem(item))
    .sort((a, b) => listOrder.indexOf(a.filter) - listOrder.indexOf(b.filter));
  return best ?? null;
}

/** Every metric's item by id, chosen as `catalogItemOf` does. */
export function metricItems(catalog: Catalog): Map<string, CatalogItem> {
  const items = catalog.filter(isMetricItem).sort((a, b) => listOrder.indexOf(b.filter) - listOrder.indexOf(a.filter));
  return new Map(items.map((item) => [item.id, item]));
}

/** Whether an item is a metric a report can request. */
export function isMetricItem(item: CatalogItem): boolean {
  return metricFilterNames.some((filter) => filter === item.filter);
}

/** Days until age N of a cohort is complete for the last installer of a period, or null without a cohort period. */
function cohortDays(id: string, item: CatalogItem | null): number | null {
  const match = cohortForm.exec(id);
  if (match === null) return null;
  // An event may be called anything; a documented cohort metric is one in whatever list it stands tonight.
  const isNamedByApp = item?.filter === 'event_metrics' && !documentedCohortForm.test(id);
  if (isNamedByApp && !id.endsWith('_cohort')) return null;
  const [, unit, count] = match;
  if (unit !== 'd' && unit !== 'w' && unit !== 'm') return null;
  if (Number(count) > longestPeriods[unit]) return null;
  // Ages are 24-hour ages: the last installer of the period completes age N up to a day later than the period's count.
  return daysPerUnit[unit] * (Number(count) + 1) + (unit === 'd' ? 0 : 1);
}

/** The age in a cohort metric's name, and the name without it; null for a name that holds none. */
export function cohortAgeOf(
  id: string,
): { readonly name: string; readonly days: number; readonly unit: 'd' | 'w' | 'm' } | null {
  const [whole = '', unit, count] = cohortForm.exec(id) ?? [];
  if (unit !== 'd' && unit !== 'w' && unit !== 'm') return null;
  const name = id.slice(0, -whole.length) + whole.replace(`_${unit}${count}`, '');
  return { name, days: daysPerUnit[unit] * Number(count), unit };
}

function horizonDays(id: string, item: CatalogItem | null): { family: MetricFamily; days: number | null } {
  const cohort = cohortDays(id, item);
  const isEvent = item?.filter === 'event_metrics';
  const isSpend =
    item?.filter === 'cost_metrics' ||
    item?.section.toLowerCase() === 'cost' ||
    (!isEvent && spendForm.test(id)) ||
    /_events_cost_/.test(id);
  if (!isEvent && cohort === null && lifetimeForm.test(id)) return { family: 'lifetime', days: null };
  const isConversionValue =
    item?.filter === 'skad_metrics' ||
    item?.section.toLowerCase() === 'conversion values' ||
    conversionValueForm.test(id);
  if (isConversionValue) return { family: 'conversion_value', days: Math.max(CONVERSION_VALUE_DAYS, cohort ?? 0) };
  if (isSpend) return { family: 'spend', days: Math.max(SPEND_DAYS, cohort ?? 0) };
  if (cohort !== null) return { family: 'cohort', days: Math.max(OTHER_DAYS, cohort) };
  return { family: 'other', days: OTHER_DAYS };
}

function isAdditive(id: string, item: CatalogItem | null): boolean {
  if (id.endsWith('_bits')) return false;
  if (item?.formatting === 'percent' || item?.formatting === 'select' || item?.formatting === 'string') return false;
  // An event may be called anything; only what follows its name says what is counted.
  return !(item?.filter === 'event_metrics' ? notAdditiveEventForm : notAdditiveForm).test(id);
}

function isDocumented(id: string, item: CatalogItem | null): boolean {
  if (item?.filter === 'event_metrics') return documentedEventForm.test(id);
  return documentedForm.test(id) || documentedCohortForm.test(id);
}

function typeOf(id: string, item: CatalogItem | null, additive: boolean): ColumnType {
  const formatting = item?.formatting ?? (countForm.test(id) ? 'integer' : 'decimal');
  if (formatting === 'integer') return additive ? BIGINT : DOUBLE;
  if (formatting.startsWith('money') || (formatting === 'decimal' && moneyForm.test(id)))
    return additive ? MONEY : DOUBLE;
  return DOUBLE;
}

/** What the catalog and the name say of a metric. */
export function metricOf(id: string, catalog: Catalog): Metric {
  const item = catalogItemOf(id, catalog);
  const { family, days } = horizonDays(id, item);
  const cohort = cohortDays(id, item);
  const additive = isAdditive(id, item);
  return {
    id,
    family,
    additive,
    additivity: additive && isDocumented(id, item) ? 'documented' : 'assumed',
    horizonMs: days === null ? null : days * MS_PER_DAY,
    cohortMs: cohort === null ? null : cohort * MS_PER_DAY,
    type: typeOf(id, item, additive),
  };
}

/** A slice's metrics in configured order, with what it states itself and what is remembered of them. */
export function metricsOf(slice: Slice, catalog: Catalog, remembered: RememberedMetrics = nothingRemembered): Metric[] {
  return slice.metrics.map((id) => {
    const known = metricOf(id, catalog);
    const statedMs = statedHorizonMs(slice, id);
    const stated = Object.hasOwn(slice.types, id) ? parseColumnType(slice.types[id] ?? '') : null;
    const horizonMs = longerHorizon(known.horizonMs, remembered.horizons.get(id));
    return {
      ...known,
      ...additivityIn(slice, known, remembered),
      type: stated ?? known.type,
      horizonMs: statedMs ?? horizonMs,
    };
  });
}

/** The horizon that a slice states for a metric; null for none. */
export function statedHorizonMs({ horizons }: Pick<Slice, 'horizons'>, metric: string): number | null {
  return horizons.find(({ pattern }) => globMatches(pattern, metric))?.horizonMs ?? null;
}

function additivityIn(
  slice: Slice,
  { id, additive, additivity }: Metric,
  { addsUp }: RememberedMetrics,
): Pick<Metric, 'additive' | 'additivity'> {
  if (Object.hasOwn(slice.additive, id)) return { additive: slice.additive[id] === true, additivity: 'stated' };
  const seen = additivity === 'assumed' && additive ? addsUp.get(id) : undefined;
  return seen === undefined ? { additive, additivity } : { additive: seen, additivity: 'seen' };
}

/** Null is for ever, and so the longest; undefined is nothing known. */
export function longerHorizon(one: number | null, other: number | null | undefined): number | null {
  if (one === null || other === null) return null;
  return Math.max(one, other ?? 0);
}

/** Whether a name matches a glob, in which `*` stands for any text and `?` for one character. */
export function globMatches(pattern: string, name: string): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(name);
}
