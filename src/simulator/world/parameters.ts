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

/** Rates per US dollar, so small that the micro-units of a year stay exact integers. */
export const currencies = (
  [
    ['USD', 'US Dollar', 1],
    ['EUR', 'Euro', 0.92],
    ['GBP', 'Pound Sterling', 0.79],
    ['JPY', 'Yen', 151.5],
    ['CHF', 'Swiss Franc', 0.89],
    ['SEK', 'Swedish Krona', 10.4],
    ['PLN', 'Zloty', 3.95],
    ['TRY', 'Turkish Lira', 32.3],
    ['INR', 'Indian Rupee', 83.4],
    ['BRL', 'Brazilian Real', 5.05],
    ['AUD', 'Australian Dollar', 1.52],
    ['CNY', 'Yuan Renminbi', 7.23],
  ] as const
).map(([code, name, rate]) => ({ code, name, rate }));

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
