/** The tables of schema `main` that are made of the catalog: what fills them, and what their comments say. Pure. */

import { type catalogTables, optionFilterNames, type valueFilterNames } from '../model/catalog.ts';
import { asScript, identifier, literal } from '../warehouse/sql.ts';

/** A name, a comment, and the expression over `ripen.catalog` that fills it if that is not the column of its name. */
type Column = readonly [name: string, comment: string, source?: string];

interface Definition {
  readonly name: (typeof catalogTables)[number];
  /** Without the ending all of them share. */
  readonly comment: string;
  /** The lists whose items are its rows. */
  readonly filters: readonly string[];
  readonly columns: readonly Column[];
}

/** How the comment of each of these tables ends, and of no other: by it a run knows its own from somebody else's. */
export const CATALOG_ENDING = ', from filters-data';

const requestId: Column = ['id', 'What to use in requests'];
const readableName: Column = ['name', 'Readable name'];
const section: Column = ['section', 'Section the service puts it in'];
const description: Column = ['description', 'What it means, as the service says it'];

const metrics: Definition = {
  name: 'metrics',
  comment: 'Metrics a report can request, and how their values settle',
  // Filled by `catalog/insert_metrics`, as half of it is ripen's own reading.
  filters: [],
  columns: [
    requestId,
    readableName,
    ['short_name', 'Abbreviated name, may be empty'],
    section,
    ['formatting', 'integer, money, decimal, percent and others'],
    description,
    ['kind', 'plain, cohort, spend, framework, lifetime, computed, or unknown: of no documented form', `''`],
    [
      'horizon_from',
      'Where the horizon comes from: the documented form of the metric, and the latest of its parts',
      `''`,
    ],
    ['horizon_days', 'Days after a period ends until the value is final; NULL means never', '0::double'],
    ['additive', 'Whether values add up over rows', 'false'],
    ['type', 'SQL type of its columns unless a slice says otherwise', `''`],
  ],
};

const dimensions: Definition = {
  name: 'dimensions',
  comment: 'Dimensions a report can be grouped by',
  filters: ['dimensions'],
  columns: [requestId, readableName, section, description],
};

const apps: Definition = {
  name: 'apps',
  comment: 'Apps the account can see',
  filters: ['apps'],
  columns: [
    ['app_token', 'Id of the app in the service', 'id'],
    ['app', 'Name of the app', 'name'],
    ['description', 'What the service says of it'],
    [
      'currency',
      'Currency of the app, as the service writes it; NULL if it does not say',
      `attributes ->> '$.currency'`,
    ],
    [
      'default_store_app_id',
      'Id of the app in its store; NULL if the service does not say',
      `attributes ->> '$.default_store_app_id'`,
    ],
    ['platforms', 'Platforms of the app, as JSON; NULL if the service does not say', `attributes ->> '$.platforms'`],
    ['attributes', 'All further fields of it, as a JSON object; NULL if there are none'],
  ],
};

/** What a list holds, and where its ids occur. */
const listTable = (name: (typeof valueFilterNames)[number], comment: string, id: string): Definition => ({
  name,
  comment,
  filters: [name],
  columns: [['id', id], readableName, description],
});

const reportOptions: Definition = {
  name: 'report_options',
  comment: 'What the parameters of a report can be set to',
  filters: optionFilterNames,
  columns: [
    ['parameter', 'The list it stands in, named after its parameter where there is one', 'filter'],
    ['id', 'What the parameter takes'],
    readableName,
    description,
  ],
};

const tables: readonly Definition[] = [
  metrics,
  dimensions,
  apps,
  listTable('apps_network', 'Apps by their ids in the stores', 'Id of the app in its store, as the service writes it'),
  listTable('countries', 'Countries', 'What the dimension country_code carries'),
  listTable('currencies', 'Currencies', 'What the parameter currency takes and the dimension currency_code carries'),
  listTable('os_names', 'Operating systems', 'What the dimension os_name carries and the parameter os_names takes'),
  listTable('networks', 'Advertising networks', 'What the dimension network carries'),
  listTable('ad_revenue_sources', 'Sources of ad revenue', 'What the parameter ad_revenue_sources takes'),
  listTable('store_type', 'Stores apps are installed from', 'What the dimension store_type carries'),
  reportOptions,
];

/** A script that replaces every table with what `ripen.catalog` holds, and comments it; `metrics` is filled by another statement. */
export const makeTables = (): string => asScript(tables.flatMap(statementsOf));

function statementsOf({ name, comment, filters, columns }: Definition): string[] {
  const table = `main.${identifier(name)}`;
  const list = columns.map(([column, , source = column]) => `${source} as ${column}`).join(', ');
  const wanted = filters.length === 0 ? 'false' : `filter in (${filters.map(literal).join(', ')})`;
  return [
    `create or replace table ${table} as\nselect ${list}\nfrom ripen.catalog\nwhere ${wanted}\norder by filter, id`,
    `comment on table ${table} is ${literal(`${comment}${CATALOG_ENDING}`)}`,
    ...columns.map(([column, text]) => `comment on column ${table}.${identifier(column)} is ${literal(text)}`),
  ];
}
