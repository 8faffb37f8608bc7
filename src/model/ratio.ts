/** Which sums a ratio of the service is made of, so that it can be taken over any rows; pure. */

/** `factor × sum(numerator) / sum(denominator)`, all metrics of the service. */
export interface Ratio {
  readonly numerator: string;
  readonly denominator: string;
  readonly factor: number;
}

/** Per thousand impressions. */
const PER_MILLE = 1000;

const known: Readonly<Record<string, readonly [numerator: string, denominator: string, factor?: number]>> = {
  ctr: ['clicks', 'impressions'],
  click_conversion_rate: ['installs', 'clicks'],
  impression_conversion_rate: ['installs', 'impressions'],
  installs_per_mile: ['installs', 'impressions', PER_MILLE],
  organic_install_rate: ['organic_installs', 'installs'],
  ecpi: ['cost', 'paid_installs'],
  ecpi_all: ['cost', 'installs'],
  ecpm: ['cost', 'paid_impressions', PER_MILLE],
  ecpi_network: ['network_cost', 'installs'],
  network_ecpi: ['network_cost', 'network_installs'],
  network_ecpc: ['network_cost', 'network_clicks'],
};

/** With the age of the cohort, such as `_d7`, in the place of the `*`. */
const knownByAge: Readonly<Record<string, readonly [numerator: string, denominator: string]>> = {
  'roas_*': ['all_revenue_total_*', 'cost'],
  'roas_ad_*': ['ad_revenue_total_*', 'cost'],
  'roas_iap_*': ['revenue_total_*', 'cost'],
  'retention_rate_*': ['retained_users_*', 'cohort_size_*'],
  'revenue_per_user_*': ['revenue_*', 'cohort_size_*'],
};

/** The sums a metric is the ratio of; null for one that is none, or whose sums are not known. */
export function ratioOf(metric: string): Ratio | null {
  const [numerator, denominator, factor = 1] = Object.hasOwn(known, metric) ? (known[metric] ?? []) : [];
  if (numerator !== undefined && denominator !== undefined) return { numerator, denominator, factor };
  const [, stem = '', age = ''] = /^(.+_)([dwm]\d{1,3})$/.exec(metric) ?? [];
  const parts = Object.hasOwn(knownByAge, `${stem}*`) ? knownByAge[`${stem}*`] : undefined;
  if (parts === undefined) return null;
  const [top, bottom] = parts;
  return { numerator: top.replace('*', age), denominator: bottom.replace('*', age), factor: 1 };
}
