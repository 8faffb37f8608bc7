/** The service's dimensions (service-interface: Report response, Dimensions). */

/** From the finest to the coarsest. */
export const dateDimensions = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;

export type DateDimension = (typeof dateDimensions)[number];

export const dimensions = [
  ...dateDimensions,
  'os_name',
  'device_type',
  'app',
  'app_token',
  'store_id',
  'store_type',
  'currency',
  'currency_code',
  'network',
  'campaign',
  'campaign_network',
  'campaign_id_network',
  'adgroup',
  'adgroup_network',
  'adgroup_id_network',
  'source_network',
  'source_id_network',
  'creative',
  'creative_network',
  'creative_id_network',
  'country',
  'country_code',
  'region',
  'partner_name',
  'partner_id',
  'partner',
  'channel',
  'platform',
] as const;

export const isDimension = (name: string): boolean =>
  dimensions.some((dimension) => dimension === name);

export const isDateDimension = (name: string): name is DateDimension =>
  dateDimensions.some((dimension) => dimension === name);

/** `in` and `not_in` take a list, the others one text. */
export const dimensionFilters = [
  'in',
  'not_in',
  'contains',
  'exclude',
  'starts_with',
  'not_starts_with',
  'ends_with',
  'not_ends_with',
] as const;

/** Each takes one number, and applies to the grouped rows. */
export const metricFilters = ['lt', 'lte', 'gt', 'gte', 'eq', 'ne'] as const;

/** Splits `<name>__<suffix>`. Returns null for another form or an unknown suffix. */
export function parseFilterKey(key: string) {
  const [, name = '', ending] = /^(.+)__(.*)$/s.exec(key) ?? [];
  for (const suffix of dimensionFilters)
    if (suffix === ending) return { name, kind: 'dimension', suffix } as const;
  for (const suffix of metricFilters)
    if (suffix === ending) return { name, kind: 'metric', suffix } as const;
  return null;
}
