/** The tables of schema `main` that are made of the catalog: what fills them, and what their comments say. Pure. */

import { type catalogTables, optionFilterNames, type valueFilterNames } from '../model/catalog.ts';
import { identifier, literal } from '../warehouse/sql.ts';

type CatalogTable = (typeof catalogTables)[number];
type ValueFilter = (typeof valueFilterNames)[number];
type CommentedColumn = readonly [name: string, comment: string];

interface Definition {
  /** Without the ending all of them share. */
  readonly comment: string;
  readonly columns: readonly CommentedColumn[];
  readonly select: string;
}

/** How the comment of each of these tables ends, and of no other: by it a run knows its own from somebody else's. */
export const CATALOG_ENDING = ', from filters-data';

const requestId = ['id', 'What to use in requests'] as const;
const readableName = ['name', 'Readable name'] as const;
const section = ['section', 'Section the service puts it in'] as const;
const description = ['description', 'What it means, as the service says it'] as const;

const metrics: Definition = {
  comment: 'Metrics a report can request, and how their values settle',
  columns: [
    requestId,
    readableName,
    ['short_name', 'Abbreviated name, may be empty'],
    section,
    ['formatting', 'integer, money, decimal, percent and others'],
    description,
    ['kind', 'plain, cohort, spend, framework, lifetime, computed, or unknown: of no documented form'],
    ['horizon_from', 'Where the horizon comes from: the documented form of the metric, and the latest of its parts'],
    ['horizon_days', 'Days after a period ends until the value is final; NULL means never'],
    ['additive', 'Whether values add up over rows'],
    ['type', 'SQL type of its columns unless a slice says otherwise'],
  ],
  // Filled by `catalog/insert_metrics`, as half of it is ripen's own reading.
  select: `select
    '' as id, '' as name, '' as short_name, '' as section, '' as formatting, '' as description,
    '' as kind, '' as horizon_from, 0::double as horizon_days, false as additive, '' as type
limit 0`,
};

/** What a list holds, and where its ids occur. */
const lists: Readonly<Record<ValueFilter, readonly [things: string, id: string]>> = {
  apps_network: ['Apps by their ids in the stores', 'Id of the app in its store, as the service writes it'],
  countries: ['Countries', 'What the dimension country_code carries'],
  currencies: ['Currencies', 'What the parameter currency takes and the dimension currency_code carries'],
  os_names: ['Operating systems', 'What the dimension os_name carries and the parameter os_names takes'],
  networks: ['Advertising networks', 'What the dimension network carries'],
  ad_revenue_sources: ['Sources of ad revenue', 'What the parameter ad_revenue_sources takes'],
  store_type: ['Stores apps are installed from', 'What the dimension store_type carries'],
};

function listTable(filter: ValueFilter): Definition {
  const [things, id] = lists[filter];
  return {
    comment: things,
    columns: [['id', id], readableName, description],
    select: `select id, name, description
from ripen.catalog
where filter = ${literal(filter)}
order by id`,
  };
}

const definitions: Readonly<Record<CatalogTable, Definition>> = {
  metrics,
  dimensions: {
    comment: 'Dimensions a report can be grouped by',
    columns: [requestId, readableName, section, description],
    select: `select id, name, section, description
from ripen.catalog
where filter = 'dimensions'
order by id`,
  },
  apps: {
    comment: 'Apps the account can see',
    columns: [
      ['app_token', 'Id of the app in the service'],
      ['app', 'Name of the app'],
      ['description', 'What the service says of it'],
      ['currency', 'Currency of the app, as the service writes it; NULL if it does not say'],
      ['default_store_app_id', 'Id of the app in its store; NULL if the service does not say'],
      ['platforms', 'Platforms of the app, as JSON; NULL if the service does not say'],
      ['attributes', 'All further fields of it, as a JSON object; NULL if there are none'],
    ],
    select: `select
    id as app_token,
    name as app,
    description,
    attributes ->> '$.currency' as currency,
    attributes ->> '$.default_store_app_id' as default_store_app_id,
    attributes ->> '$.platforms' as platforms,
    attributes
from ripen.catalog
where filter = 'apps'
order by id`,
  },
  apps_network: listTable('apps_network'),
  countries: listTable('countries'),
  currencies: listTable('currencies'),
  os_names: listTable('os_names'),
  networks: listTable('networks'),
  ad_revenue_sources: listTable('ad_revenue_sources'),
  store_type: listTable('store_type'),
  report_options: {
    comment: 'What the parameters of a report can be set to',
    columns: [
      ['parameter', 'The list it stands in, named after its parameter where there is one'],
      ['id', 'What the parameter takes'],
      readableName,
      description,
    ],
    select: `select filter as parameter, id, name, description
from ripen.catalog
where filter in (${optionFilterNames.map((name) => literal(name)).join(', ')})
order by filter, id`,
  },
};

/** The statement that makes a table; `metrics` is empty at first. */
export function createCatalogTable(name: CatalogTable): string {
  return `create or replace table main.${identifier(name)} as\n${definitions[name].select}`;
}

/** The statements that comment a table and its columns. */
export function catalogComments(name: CatalogTable): string[] {
  const { comment, columns } = definitions[name];
  const table = `main.${identifier(name)}`;
  return [
    `comment on table ${table} is ${literal(`${comment}${CATALOG_ENDING}`)}`,
    ...columns.map(([column, text]) => `comment on column ${table}.${identifier(column)} is ${literal(text)}`),
  ];
}
