/**
 * What ripen knows of a metric: how long its values may change, whether they add up, and its type. The slice's settings come
 * first, then the documentation; the catalog states formatting. Without a documented form or stated horizon, it is never final.
 */

import { MS_PER_DAY } from './calendar.ts';
import { type Catalog, metricFilterNames } from './catalog.ts';
import type { CatalogItem } from './catalog-item.ts';
import { BIGINT, type ColumnType, DOUBLE, MONEY, parseColumnType } from './column-type.ts';
import { formatDuration } from './duration.ts';
import {
  type CohortAge,
  documentedMetric,
  type DocumentedMetric,
  type MetricKind,
} from './metric-forms.ts';
import type { Slice } from './slice.ts';

/** How it is known whether a metric adds up: from the configuration, documentation, answers, or only its values' formatting. */
export const additivities = ['stated', 'documented', 'seen', 'assumed'] as const;

export type Additivity = (typeof additivities)[number];

/** Whether it is certain how a metric adds up. A name or earlier answers do not make it certain: an answer may refute them. */
export const isCertain = ({ additivity }: Pick<Metric, 'additivity'>): boolean =>
  additivity === 'stated' || additivity === 'documented';

/** Metrics of a slice that are only assumed to add up, and whether their rows were seen to do so. */
export type SeenAdditivity = ReadonlyMap<string, boolean>;

export interface Metric {
  readonly id: string;
  readonly kind: MetricKind | 'unknown';
  /** How long after a period ends the value may still change; null if forever. */
  readonly horizonMs: number | null;
  /** How long after a period ends its total is compared from night to night; null if never. */
  readonly comparableMs: number | null;
  /** The source of the horizon, as text for people. */
  readonly horizonFrom: string;
  /** The age of its cohorts, and its name without the age. */
  readonly cohort: CohortAge | null;
  /** Whether values add up over rows; ratios, averages and distances do not. */
  readonly additive: boolean;
  /** How `additive` is known. */
  readonly additivity: Additivity;
  /** Whether its values are counts, even if its column was widened. */
  readonly isCount: boolean;
  readonly type: ColumnType;
}

/** Every metric's item by id, from the most specific list that has it, as that one knows best what it is. */
export function metricItems(catalog: Catalog): Map<string, CatalogItem> {
  const fromLeastSpecific = metricFilterNames.toReversed();
  const items = fromLeastSpecific.flatMap((name) =>
    catalog.filter(({ filter }) => filter === name),
  );
  return new Map(items.map((item) => [item.id, item]));
}

/** Whether an item is a metric that a report can request. */
export function isMetricItem(item: CatalogItem): boolean {
  return metricFilterNames.some((filter) => filter === item.filter);
}

/** The metric as documented, with what its catalog item states of its values. */
export function metricOf(id: string, item: CatalogItem | undefined): Metric {
  const documented = documentedMetric(id, item?.filter ?? null);
  const formatting = item?.formatting || (documented?.unit ?? 'decimal');
  const additive = addsUp(formatting, documented);
  const type = typeOf(formatting, documented, additive);
  const milliseconds = (days: number | null | undefined): number | null =>
    days === null || days === undefined ? null : days * MS_PER_DAY;
  return {
    id,
    kind: documented?.kind ?? 'unknown',
    horizonMs: milliseconds(documented?.horizonDays),
    comparableMs: milliseconds(documented?.comparableDays),
    horizonFrom: horizonText(id, documented),
    cohort: documented?.age ?? null,
    additive,
    additivity: documented === null ? 'assumed' : 'documented',
    isCount: type.kind === 'BIGINT',
    type,
  };
}

function horizonText(id: string, documented: DocumentedMetric | null): string {
  if (documented === null)
    return 'no documented form: never final unless the slice states a horizon';
  const { form, latest } = documented;
  return latest === id
    ? `documented as ${form}`
    : `documented as ${form}; its latest part is ${latest}`;
}

const countedFormattings = new Set(['integer', 'money', 'money_precise']);
const singleFormattings = new Set(['percent', 'select', 'string']);

function addsUp(formatting: string, documented: DocumentedMetric | null): boolean {
  if (documented === null) return countedFormattings.has(formatting);
  return documented.addsUp && !singleFormattings.has(formatting);
}

function typeOf(
  formatting: string,
  documented: DocumentedMetric | null,
  additive: boolean,
): ColumnType {
  if (!additive) return DOUBLE;
  if (formatting === 'integer') return BIGINT;
  const isMoney =
    formatting.startsWith('money') ||
    (formatting === 'decimal' && documented?.unit.startsWith('money'));
  return isMoney ? MONEY : DOUBLE;
}

/** Whether a metric is known to add up before any catalog is read, from the slice's settings or the documentation. */
export function addsUpCertainly(slice: Pick<Slice, 'additive'>, id: string): boolean {
  if (Object.hasOwn(slice.additive, id)) return slice.additive[id] === true;
  return documentedMetric(id, null)?.addsUp === true;
}

/** A slice's metrics in configured order, with what the slice states and what was seen of them. */
export function metricsOf(
  slice: Slice,
  catalog: Catalog,
  seen: SeenAdditivity = new Map(),
): Metric[] {
  const items = metricItems(catalog);
  return slice.metrics.map((id) => {
    const known = metricOf(id, items.get(id));
    const statedMs = statedHorizonMs(slice, id);
    const stated = Object.hasOwn(slice.types, id) ? parseColumnType(slice.types[id] ?? '') : null;
    return {
      ...known,
      ...additivityIn(slice, known, seen),
      ...(statedMs === null
        ? {}
        : {
            horizonMs: statedMs,
            comparableMs: known.comparableMs ?? statedMs,
            horizonFrom: 'horizons of the slice',
          }),
      ...(stated === null ? {} : { isCount: stated.kind === 'BIGINT', type: stated }),
    };
  });
}

/** Names in a message: more make it longer, not clearer. */
const MAX_NAMES = 3;

/** The message that metrics have no documented form and no stated horizon. */
export function unknownFormsText(
  metrics: readonly Metric[],
  { lifetimeMs }: Pick<Slice, 'lifetimeMs'>,
): string | null {
  const ids = metrics
    .filter(({ kind, horizonMs }) => kind === 'unknown' && horizonMs === null)
    .map(({ id }) => id);
  if (ids.length === 0) return null;
  const more = ids.length > MAX_NAMES ? ` and ${ids.length - MAX_NAMES} more` : '';
  const has = ids.length === 1 ? 'has' : 'have';
  return `${ids.slice(0, MAX_NAMES).join(', ')}${more} ${has} no documented form: it is unknown when the values stop changing, so they are refreshed for ${formatDuration(lifetimeMs)} and never final`;
}

export function statedHorizonMs(
  { horizons }: Pick<Slice, 'horizons'>,
  metric: string,
): number | null {
  return horizons.find(({ pattern }) => globMatches(pattern, metric))?.horizonMs ?? null;
}

function additivityIn(
  slice: Slice,
  { id, additive, additivity }: Metric,
  seen: SeenAdditivity,
): Pick<Metric, 'additive' | 'additivity'> {
  if (Object.hasOwn(slice.additive, id))
    return { additive: slice.additive[id] === true, additivity: 'stated' };
  const found = additivity === 'assumed' && additive ? seen.get(id) : undefined;
  return found === undefined ? { additive, additivity } : { additive: found, additivity: 'seen' };
}

/** Whether a name matches a glob, in which `*` stands for any text and `?` for one character. */
export function globMatches(pattern: string, name: string): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(name);
}
