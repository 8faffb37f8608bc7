/** The closed sets of the report's parameters, as the service accepts them and as filters-data lists them. */

export const cohortMaturities = ['immature', 'mature'] as const;

/** The default is the service's own, and not the first: left out, only clicks count (observed: Requests). */
export const attributionTypes = ['all', 'click', 'impression'] as const;

export const attributionSources = ['dynamic', 'first'] as const;

export const reattributedValues = ['all', 'true', 'false'] as const;

/** `adjust` is the older name of `attribution` (observed: documents disagree). */
export const adSpendModes = ['attribution', 'adjust', 'network', 'mixed'] as const;

export const revenueModes = [
  'GROSS_50',
  'GROSS_60',
  'GROSS_70',
  'GROSS_80',
  'GROSS_85',
  'GROSS_90',
  'GROSS_100',
] as const;

export const revenueSources = ['admost_sdk', 'applovin_max_sdk', 'ironsource_sdk', 'unity_sdk'] as const;

export const comparisonPeriods = [
  'previous_period',
  'previous_week',
  'previous_month',
  'previous_quarter',
  'previous_year',
] as const;

export const booleans = ['true', 'false'] as const;
