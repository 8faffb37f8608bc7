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

export interface Currency {
  /** ISO 4217. */
  readonly code: string;
  readonly name: string;
  /** How many of it one US dollar buys; it never moves. Small enough that a year's micro-units stay exact integers. */
  readonly rate: number;
}

export const currencies: readonly [Currency, ...Currency[]] = [
  { code: 'USD', name: 'US Dollar', rate: 1 },
  { code: 'EUR', name: 'Euro', rate: 0.92 },
  { code: 'GBP', name: 'Pound Sterling', rate: 0.79 },
  { code: 'JPY', name: 'Yen', rate: 151.5 },
  { code: 'CHF', name: 'Swiss Franc', rate: 0.89 },
  { code: 'SEK', name: 'Swedish Krona', rate: 10.4 },
  { code: 'PLN', name: 'Zloty', rate: 3.95 },
  { code: 'TRY', name: 'Turkish Lira', rate: 32.3 },
  { code: 'INR', name: 'Indian Rupee', rate: 83.4 },
  { code: 'BRL', name: 'Brazilian Real', rate: 5.05 },
  { code: 'AUD', name: 'Australian Dollar', rate: 1.52 },
  { code: 'CNY', name: 'Yuan Renminbi', rate: 7.23 },
];
