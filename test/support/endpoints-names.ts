/**
 * Every endpoint, parameter, field and status that the service's interface names, as its document writes them.
 *
 * Written out here, by the document: what the code lists is compared with it, not copied from it.
 */

import type { Proof } from './faults-table.ts';

/** A part of the interface: an endpoint, or what several have in common. */
export const interfaceParts = [
  'GET {base_url}/public/v1/partners',
  'GET {base_url}/public/v2/apps/{app_token}/trackers, or v1',
  'GET …/trackers/{link_token}/children, v2 or v1',
  'POST {base_url}/public/v1/apps/{app_token}/trackers',
  'PATCH {base_url}/public/v1/apps/{app_token}/trackers/{link_token}',
  'Envelope and paging of the campaign API',
  'GET {reports_url}/reports-service/report',
  'GET {reports_url}/reports-service/filters_data',
  'POST {cost_url}/cost',
  'Authentication',
  'Limits',
  'Versions',
] as const;

export type InterfacePart = (typeof interfaceParts)[number];

/** What a name is; a word for the page. */
export const interfaceKinds = [
  'parameter',
  'field',
  'dimension',
  'dimension filter',
  'metric filter',
  'list',
  'section',
  'item field',
  'status',
  'rule',
] as const;

export type InterfaceKind = (typeof interfaceKinds)[number];

export interface InterfaceRow {
  readonly part: InterfacePart;
  readonly kind: InterfaceKind;
  /** As the interface document writes them; a rule is a phrase. */
  readonly names: readonly string[];
  /** What ripen does with them. */
  readonly what: string;
  readonly proofs: readonly Proof[];
}

/** Every name the interface document has, by part and kind, in its order. */
export const interfaceNames: Readonly<
  Record<InterfacePart, Partial<Readonly<Record<InterfaceKind, readonly string[]>>>>
> = {
  'GET {base_url}/public/v1/partners': {
    parameter: ['after', 'before', 'limit'],
    field: ['id', 'display_name', 'supports_cost_data'],
  },
  'GET {base_url}/public/v2/apps/{app_token}/trackers, or v1': {
    parameter: ['app_token', 'cursor', 'limit'],
    field: [
      'name',
      'token',
      'label',
      'level',
      'archived',
      'has_subtrackers',
      'partner_id',
      'cost_data_enabled',
      'url',
      'click_url',
      'impression_url',
    ],
  },
  'GET …/trackers/{link_token}/children, v2 or v1': {
    parameter: ['app_token', 'link_token', 'cursor', 'limit'],
    rule: ['partner_id null on sub-links', 'name of a sub-link: parent, ::, label', 'levels 1 to 4'],
  },
  'POST {base_url}/public/v1/apps/{app_token}/trackers': {
    parameter: ['app_token', 'name', 'parent_token'],
    status: ['not shown'],
  },
  'PATCH {base_url}/public/v1/apps/{app_token}/trackers/{link_token}': {
    parameter: ['app_token', 'link_token', 'partner_id', 'cost_data_enabled'],
    status: ['not shown'],
  },
  'Envelope and paging of the campaign API': {
    field: [
      'data',
      'items',
      'paging',
      'api_version',
      'request_id',
      'timestamp',
      'page_size',
      'collection_size',
      'total',
      'next',
      'previous',
      'cursors.after',
      'cursors.before',
      'cursor',
    ],
    rule: ['next of v1 carries after', 'next of v2 carries cursor or after', 'end of the pages'],
    status: ['not shown'],
  },
  'GET {reports_url}/reports-service/report': {
    parameter: [
      'dimensions',
      'metrics',
      'date_period',
      'cohort_maturity',
      'utc_offset',
      'attribution_type',
      'attribution_source',
      'reattributed',
      'iap_revenue_mode',
      'ad_revenue_sources',
      'os_names',
      'ad_spend_mode',
      'sandbox',
      'sort',
      'index',
      'format_dates',
      'period_over_period',
      'currency',
    ],
    'dimension filter': [
      '__in',
      '__not_in',
      '__contains',
      '__exclude',
      '__starts_with',
      '__not_starts_with',
      '__ends_with',
      '__not_ends_with',
    ],
    'metric filter': ['__lt', '__lte', '__gt', '__gte', '__eq', '__ne'],
    dimension: [
      'hour',
      'day',
      'week',
      'month',
      'year',
      'quarter',
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
    ],
    field: ['rows', 'attr_dependency', 'totals', 'warnings', 'pagination'],
    status: ['200', '204', '400', '401', '403', '429', '503', '504'],
  },
  'GET {reports_url}/reports-service/filters_data': {
    parameter: ['required_filters', 'section', '__contains'],
    list: [
      'apps',
      'apps_network',
      'overview_metrics',
      'skad_metrics',
      'cohort_maturity',
      'cohort_metrics',
      'event_metrics',
      'cost_metrics',
      'etl_metrics',
      'dimensions',
      'countries',
      'currencies',
      'os_names',
      'networks',
      'partners',
      'ad_revenue_sources',
      'iap_revenue_mode',
      'attribution_type',
      'attribution_source',
      'attribution_status',
      'ad_spend_mode',
      'utc_offset',
      'attributes',
      'index',
      'period_over_period',
      'cohort_metric_names',
      'full_cohort_periods',
      'store_type',
      'skad_time_adjustment',
    ],
    section: [
      'conversion',
      'fraud',
      'cost',
      'revenue',
      'retention',
      'events',
      'conversion_events',
      'installs',
      'conversion_values',
    ],
    'item field': ['id', 'name', 'short_name', 'section', 'formatting'],
    status: ['200', '204', '400', '401', '403', '429', '503', '504'],
  },
  'POST {cost_url}/cost': {
    parameter: ['cost_type', 'cost_currency', 'cost_id', 'tag', 'cost_amount'],
    status: ['200', '400', '401', '403'],
    rule: ['lower-case names', 'a Cost ID is unique', 'other statuses'],
  },
  Authentication: {
    rule: ['Token token=<API_TOKEN>', 'Bearer <API_TOKEN>', 'partner credentials', 'a token that is reset'],
  },
  Limits: {
    rule: [
      'limit: positive, default 50',
      'app_token: 12 alphanumeric characters',
      'cost_id: 12 to 256 characters',
      'tag: at most 128 characters',
      'acceptance: up to 7 days after the engagement',
      'more than 50 simultaneous requests',
    ],
  },
  Versions: { rule: ['v2 of the link lists, else v1', 'partners, create and update under v1 alone'] },
};
