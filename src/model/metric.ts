/**
 * How long a metric's values may change, whether they add up, and its type. Settings come before documentation. Without a
 * documented form or stated horizon it is never final.
 */

import { MS_PER_DAY } from './calendar.ts';
import { type Catalog, metricFilterNames } from './catalog.ts';
import type { CatalogItem } from './catalog-item.ts';
import {
  BIGINT,
  type ColumnType,
  DOUBLE,
  isOfCounts,
  MONEY,
  parseColumnType,
} from './column-type.ts';
import { type CohortAge, documentedMetric, isMoney, type MetricKind } from './metric-forms.ts';
import { durationText, namesText } from './measure.ts';
import type { Slice } from './slice.ts';

/** An answer may refute a name or earlier answers. */
export const isCertain = ({ additivity }: Pick<Metric, 'additivity'>): boolean =>
  additivity === 'stated' || additivity === 'documented';

export type SeenAdditivity = ReadonlyMap<string, boolean>;

export interface Metric {
  readonly id: string;
  readonly kind: MetricKind | 'unknown';
  /** How long after a period ends the value may still change. Null is forever. */
  readonly horizonMs: number | null;
  readonly comparableMs: number | null;
  readonly horizonFrom: string;
  readonly cohort: CohortAge | null;
  readonly additive: boolean;
  readonly additivity: 'stated' | 'documented' | 'seen' | 'assumed';
  /** Even if its column was widened. */
  readonly isCount: boolean;
  readonly type: ColumnType;
}

/** Returns the most specific item of each metric. */
export function metricItems(catalog: Catalog): Map<string, CatalogItem> {
  const items = new Map<string, CatalogItem>();
  for (const name of metricFilterNames.toReversed())
    for (const item of catalog) if (item.filter === name) items.set(item.id, item);
  return items;
}

export const isMetricItem = (item: CatalogItem): boolean =>
  metricFilterNames.some((filter) => filter === item.filter);

const countedFormattings = new Set(['integer', 'money', 'money_precise']);
const singleFormattings = new Set(['percent', 'select', 'string']);

export function metricOf(id: string, item: CatalogItem | undefined): Metric {
  const documented = documentedMetric(id, item?.filter ?? null);
  const formatting = item?.formatting || (documented?.unit ?? 'decimal');
  const additive =
    documented === null
      ? countedFormattings.has(formatting)
      : documented.addsUp && !singleFormattings.has(formatting);
  // The catalog may call money a decimal.
  const unit = formatting === 'decimal' ? (documented?.unit ?? formatting) : formatting;
  let type = DOUBLE;
  if (additive && formatting === 'integer') type = BIGINT;
  else if (additive && isMoney(unit)) type = MONEY;
  const milliseconds = (days = Infinity) => (days === Infinity ? null : days * MS_PER_DAY);
  let horizonFrom = 'no documented form: never final unless the slice states a horizon';
  if (documented !== null) {
    const { form, latest } = documented;
    horizonFrom = `documented as ${form}`;
    if (latest !== id) horizonFrom += `; its latest part is ${latest}`;
  }
  return {
    id,
    kind: documented?.kind ?? 'unknown',
    horizonMs: milliseconds(documented?.horizonDays),
    comparableMs: milliseconds(documented?.comparableDays),
    horizonFrom,
    cohort: documented?.age ?? null,
    additive,
    additivity: documented === null ? 'assumed' : 'documented',
    isCount: isOfCounts(type),
    type,
  };
}

/** Before any catalog is read. */
export function addsUpCertainly(slice: Pick<Slice, 'additive'>, id: string): boolean {
  if (Object.hasOwn(slice.additive, id)) return slice.additive[id] === true;
  return documentedMetric(id, null)?.addsUp === true;
}

export function metricsOf(
  slice: Slice,
  catalog: Catalog,
  seen: SeenAdditivity = new Map(),
): Metric[] {
  const items = metricItems(catalog);
  return slice.metrics.map((id) => {
    const metric = { ...metricOf(id, items.get(id)) };
    const seenAdditive = metric.additivity === 'assumed' && metric.additive ? seen.get(id) : null;
    if (Object.hasOwn(slice.additive, id)) {
      metric.additive = slice.additive[id] === true;
      metric.additivity = 'stated';
    } else if (typeof seenAdditive === 'boolean') {
      metric.additive = seenAdditive;
      metric.additivity = 'seen';
    }
    const horizon = slice.horizons.find(({ pattern }) => globMatches(pattern, id));
    if (horizon !== undefined) {
      metric.horizonMs = horizon.horizonMs;
      metric.comparableMs ??= horizon.horizonMs;
      metric.horizonFrom = 'horizons of the slice';
    }
    const type = Object.hasOwn(slice.types, id) ? parseColumnType(slice.types[id] ?? '') : null;
    return type === null ? metric : { ...metric, type, isCount: isOfCounts(type) };
  });
}

export function unknownFormsText(
  metrics: readonly Metric[],
  { lifetimeMs }: Pick<Slice, 'lifetimeMs'>,
): string | null {
  const unknown = metrics.filter(({ kind, horizonMs }) => kind === 'unknown' && horizonMs === null);
  const ids = unknown.map(({ id }) => id);
  if (ids.length === 0) return null;
  const has = ids.length === 1 ? 'has' : 'have';
  return `${namesText(ids, 3)} ${has} no documented form: it is unknown when the values stop changing, so they are refreshed for ${durationText(lifetimeMs)} and never final`;
}

/** `*` stands for any text, `?` for one character. */
export function globMatches(pattern: string, name: string): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(name);
}
