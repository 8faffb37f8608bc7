/** The values that the service accepts for the report's parameters, and how it refuses all others. */

export const parameterValues = {
  cohort_maturity: ['immature', 'mature'],
  /** The default is `click` (observed: Requests). */
  attribution_type: ['all', 'click', 'impression'],
  attribution_source: ['dynamic', 'first'],
  reattributed: ['all', 'true', 'false'],
  /** `adjust` is the older name of `attribution` (observed: documents disagree). */
  ad_spend_mode: ['attribution', 'adjust', 'network', 'mixed'],
  iap_revenue_mode: [
    'GROSS_50',
    'GROSS_60',
    'GROSS_70',
    'GROSS_80',
    'GROSS_85',
    'GROSS_90',
    'GROSS_100',
  ],
  ad_revenue_sources: ['admost_sdk', 'applovin_max_sdk', 'ironsource_sdk', 'unity_sdk'],
  period_over_period: [
    'previous_period',
    'previous_week',
    'previous_month',
    'previous_quarter',
    'previous_year',
  ],
  sandbox: ['true', 'false'],
  format_dates: ['true', 'false'],
} as const;

export interface Currency {
  readonly code: string;
  readonly name: string;
  /** Per US dollar, so small that the micro-units of a year stay exact integers. */
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

/** The server sends `status` and `body` unchanged. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly status = 400;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(body: Readonly<Record<string, unknown>>) {
    super(`The simulated service refused a request: ${JSON.stringify(body)}`);
    this.body = body;
  }
}

/** `loc` is the parameter that holds the unknown name. */
export function unsupported(kind: 'metric' | 'dimension', name: string, loc: string) {
  const text = `Unsupported ${kind}: ${name} loc=${loc}`;
  const body = { error_code: 'request_error', error_desc: text, error_desc_details: null };
  return new RequestRefused(body);
}

export function invalid(parameter: string, msg: string): RequestRefused {
  return new RequestRefused({ detail: [{ loc: ['query', parameter], msg, type: 'value_error' }] });
}
