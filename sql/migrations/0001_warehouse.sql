-- The whole warehouse except the slices' tables: dimension tables are in main, the ledger is in ripen, and ripen_internal holds
-- what only the program needs. Instants are TIMESTAMP in UTC, days are civil dates in the slice's own offset, intervals are
-- half-open. A migration is never edited after its version was released.

create sequence ripen_internal.load_ids;

comment on table ripen_internal.migrations is 'Which migrations made this ledger';
comment on column ripen_internal.migrations.version is 'Number of the migration';
comment on column ripen_internal.migrations.name is 'Its file';
comment on column ripen_internal.migrations.applied_at is 'When it was applied (UTC)';

create table ripen.runs (
    run_id varchar not null,
    command varchar not null,
    as_of timestamp not null,
    started_at timestamp not null,
    finished_at timestamp,
    status varchar not null,
    exit_code integer,
    version varchar not null,
    host varchar not null,
    pid integer not null,
    summary json,
    run_number bigint
);

comment on table ripen.runs is 'One row per invocation of sync, backfill or replay';
comment on column ripen.runs.run_id is 'Unique id of the run';
comment on column ripen.runs.command is 'sync, backfill or replay';
comment on column ripen.runs.as_of is 'The instant the run planned for (UTC)';
comment on column ripen.runs.started_at is 'When it began (UTC)';
comment on column ripen.runs.finished_at is 'When it ended (UTC), NULL while it runs, and after a kill';
comment on column ripen.runs.status is 'running, succeeded, partial, failed or interrupted; running without a live process means killed';
comment on column ripen.runs.exit_code is 'Exit code of the process, NULL while it runs';
comment on column ripen.runs.version is 'Version of the program';
comment on column ripen.runs.host is 'Name of the machine';
comment on column ripen.runs.pid is 'Process id on that machine';
comment on column ripen.runs.summary is 'The summary as printed by --json';
comment on column ripen.runs.run_number is 'Counts the runs in the order they began, whatever the clocks of their machines showed';

create table ripen.slice_tables (
    slice varchar not null,
    fingerprint varchar not null,
    table_name varchar not null,
    state varchar not null,
    max_days integer,
    parts json,
    created_at timestamp not null,
    live_at timestamp,
    sized_at timestamp,
    control varchar
);

comment on table ripen.slice_tables is 'The tables that hold a slice: the live one and, while its meaning changes, the one being built';
comment on column ripen.slice_tables.slice is 'Name of the slice';
comment on column ripen.slice_tables.fingerprint is 'Hash of everything that gives the rows their meaning: dimensions, filters, parameters';
comment on column ripen.slice_tables.table_name is 'Quoted name of the table, with its schema';
comment on column ripen.slice_tables.state is 'live, building, or control: no table of its own, but control totals';
comment on column ripen.slice_tables.max_days is 'Most days that one request could cover before it was too heavy; NULL if none was';
comment on column ripen.slice_tables.parts is 'Parts that a single period had to be divided into to be light enough; NULL if none had to be';
comment on column ripen.slice_tables.created_at is 'When the table was made (UTC)';
comment on column ripen.slice_tables.live_at is 'When readers first saw it (UTC), NULL before';
comment on column ripen.slice_tables.sized_at is 'As-of instant of the run that learned max_days or parts (UTC); they count for 7 days';
comment on column ripen.slice_tables.control is 'The control totals that its rows are compared with; NULL if there are none';

create table ripen.slice_metrics (
    slice varchar not null,
    metric varchar not null,
    position integer not null,
    type varchar not null,
    kind varchar not null,
    horizon_from varchar not null,
    additive boolean not null,
    horizon_seconds bigint,
    settle_seconds bigint not null,
    schedule varchar not null,
    additivity varchar default 'assumed',
    age varchar default '',
    cohort_metric varchar,
    age_days integer,
    comparable_seconds bigint
);

comment on table ripen.slice_metrics is 'The metrics of each slice as last configured, and how their values settle';
comment on column ripen.slice_metrics.slice is 'Name of the slice';
comment on column ripen.slice_metrics.metric is 'Name of the metric as the service has it';
comment on column ripen.slice_metrics.position is 'Place among the slice''s metrics, from 0';
comment on column ripen.slice_metrics.type is 'SQL type of the column';
comment on column ripen.slice_metrics.kind is 'plain, cohort, spend, framework, lifetime, computed, or unknown: not documented, and never final unless the slice states a horizon';
comment on column ripen.slice_metrics.horizon_from is 'Where the horizon comes from';
comment on column ripen.slice_metrics.additive is 'Whether values add up over rows';
comment on column ripen.slice_metrics.horizon_seconds is 'How long after a period ends the value may still change; NULL means for ever';
comment on column ripen.slice_metrics.settle_seconds is 'What is added to every horizon';
comment on column ripen.slice_metrics.schedule is 'The slice''s refresh and, in milliseconds, its lifetime, as a JSON list';
comment on column ripen.slice_metrics.age is 'Age of the cohort in a cube, as d7; empty in any other slice';
comment on column ripen.slice_metrics.additivity is 'How that is known: stated in the configuration, documented for the metric, assumed from how its values are formatted, or seen in the answers';
comment on column ripen.slice_metrics.cohort_metric is 'Name of the metric in the slice''s view _cohorts, without its age; NULL for a metric that is not of cohorts';
comment on column ripen.slice_metrics.age_days is 'Age of its cohorts in days; NULL for a metric that is not of cohorts';
comment on column ripen.slice_metrics.comparable_seconds is 'How long after a period ends its total is compared with the service''s each night; NULL means never';

create table ripen.control_totals (
    control varchar not null,
    metric varchar not null,
    starts_at timestamp not null,
    seen_at timestamp not null,
    value double
);

comment on table ripen.control_totals is 'What the service states per date and metric without any other dimension, a row each time that changed';
comment on column ripen.control_totals.control is 'Name of the control totals, as in ripen.slice_tables';
comment on column ripen.control_totals.metric is 'Name of the metric';
comment on column ripen.control_totals.starts_at is 'Value of the date dimension: the first day of the period, or the hour';
comment on column ripen.control_totals.seen_at is 'When it was requested, the as-of instant of the run, or when the answer was computed, whichever is earliest (UTC); it holds until the next row of the same cell';
comment on column ripen.control_totals.value is 'The total as the nearest double; NULL if the service states none';

create table ripen.control_readings (
    control varchar not null,
    run_id varchar not null,
    read_at timestamp not null,
    start_day date not null,
    end_day date not null,
    metrics varchar []
);

comment on table ripen.control_readings is 'Which days of control totals were read, and when';
comment on column ripen.control_readings.control is 'Name of the control totals, as in ripen.slice_tables';
comment on column ripen.control_readings.run_id is 'The run it belongs to';
comment on column ripen.control_readings.read_at is 'When they were requested, the as-of instant of the run, or when the answer was computed, whichever is earliest (UTC)';
comment on column ripen.control_readings.start_day is 'First day that was read';
comment on column ripen.control_readings.end_day is 'The day after the last one';
comment on column ripen.control_readings.metrics is 'The metrics that were read';

create table ripen.loads (
    load_id bigint not null,
    run_id varchar not null,
    slice varchar not null,
    fingerprint varchar not null,
    start_day date not null,
    end_day date not null,
    reasons varchar[] not null,
    parameters json not null,
    metrics varchar[] not null,
    requests integer not null,
    bytes bigint not null,
    rows_fetched bigint not null,
    rows_loaded bigint not null,
    rows_rejected bigint not null,
    verdict varchar not null,
    proof json not null,
    requested_at timestamp not null,
    received_at timestamp not null,
    loaded_at timestamp not null,
    known_at timestamp
);

comment on table ripen.loads is 'One row per loaded window, written in the same transaction as its rows';
comment on column ripen.loads.load_id is 'Unique id of the load; its rows carry it as _load_id';
comment on column ripen.loads.run_id is 'The run it belongs to';
comment on column ripen.loads.slice is 'Name of the slice';
comment on column ripen.loads.fingerprint is 'The meaning of its rows, as in ripen.slice_tables';
comment on column ripen.loads.start_day is 'First day that was requested';
comment on column ripen.loads.end_day is 'The day after the last one that was requested';
comment on column ripen.loads.reasons is 'Why the window was due';
comment on column ripen.loads.parameters is 'The query parameters that were sent';
comment on column ripen.loads.metrics is 'Metrics whose values were loaded and are still stored; a metric that is removed from the slice is removed here, and all of them with the table of an earlier meaning';
comment on column ripen.loads.requests is 'Requests for the answers that were loaded, in the first of several loads that share them; retries and repeated requests count in the summary of the run alone';
comment on column ripen.loads.bytes is 'Bytes received, still compressed';
comment on column ripen.loads.rows_fetched is 'Rows the service sent';
comment on column ripen.loads.rows_loaded is 'Rows that were stored';
comment on column ripen.loads.rows_rejected is 'Rows that could not be stored exactly';
comment on column ripen.loads.verdict is 'Completeness: proven, unverifiable if the answer stated no additive total to compare with, or unproven if a total disagreed and the slice loads all the same';
comment on column ripen.loads.proof is 'Per additive metric the sum of the rows and the total the service stated';
comment on column ripen.loads.requested_at is 'When the window was requested (UTC)';
comment on column ripen.loads.received_at is 'When its last answer was complete (UTC)';
comment on column ripen.loads.loaded_at is 'When it became visible (UTC)';
comment on column ripen.loads.known_at is 'The instant that counts as the fetch in every finality decision (UTC): when it was requested, the as-of instant of its run, or when the answer was computed, whichever is earliest';

create table ripen.periods (
    slice varchar not null,
    fingerprint varchar not null,
    start_day date not null,
    end_day date not null,
    requested_start date not null,
    requested_end date not null,
    load_id bigint not null,
    fetched_at timestamp not null,
    ends_at timestamp not null,
    whole boolean not null,
    rows bigint not null,
    rejected bigint not null,
    state varchar not null,
    next_refresh_at timestamp,
    empty_runs integer default 0,
    verdict varchar default 'proven',
    trusted_at timestamp,
    computed_at timestamp,
    immature varchar[],
    differing varchar[],
    age varchar default ''
);

comment on table ripen.periods is 'Per slice and period: what was last fetched, and whether it is final';
comment on column ripen.periods.slice is 'Name of the slice';
comment on column ripen.periods.age is 'Age of the cohort in a cube, which has one row per period and age; empty in any other slice';
comment on column ripen.periods.fingerprint is 'The meaning of its rows, as in ripen.slice_tables';
comment on column ripen.periods.start_day is 'First day of the calendar bucket';
comment on column ripen.periods.end_day is 'The day after its last one';
comment on column ripen.periods.requested_start is 'First day of the period that was requested; later than start_day if the date period cut it';
comment on column ripen.periods.requested_end is 'The day after the last one that was requested; earlier than end_day if the date period cut it';
comment on column ripen.periods.load_id is 'The newest load of the period';
comment on column ripen.periods.fetched_at is 'When the newest load of the period was requested, or the as-of instant of its run (UTC)';
comment on column ripen.periods.ends_at is 'The instant the period ended, in the offset of the slice (UTC)';
comment on column ripen.periods.whole is 'False if the date period cut the calendar bucket: such a period is never final';
comment on column ripen.periods.rows is 'Rows of its newest load';
comment on column ripen.periods.rejected is 'Rows that its newest load could not store exactly; the period stays due while there are any';
comment on column ripen.periods.state is 'open: not over, maturing: some metric may still change, final: none can, cut: only some of its days were requested, empty: without rows, not yet confirmed by a later run';
comment on column ripen.periods.next_refresh_at is 'The instant from which new values can be expected, NULL if none are';
comment on column ripen.periods.empty_runs is 'Runs in a row whose answer had no rows for the period, 0 if it has some';
comment on column ripen.periods.verdict is 'Completeness of its newest load: proven, unverifiable or unproven';
comment on column ripen.periods.computed_at is 'When the answer was computed (UTC), if it says so and that was before it was requested; else NULL';
comment on column ripen.periods.immature is 'Metrics that the answer itself calls immature: they are not final, whatever their horizon; NULL if there are none';
comment on column ripen.periods.differing is 'Metrics whose rows did not add up to the control totals of the night they were loaded, a week after the period or later; NULL if there are none';
comment on column ripen.periods.trusted_at is 'The instant that counts as the fetch for finality (UTC): fetched_at, or computed_at if that is earlier; NULL if nothing of the period can be final: cut, rows rejected, unproven, or empty in one answer only';

create table ripen.restatements (
    slice varchar not null,
    period date not null,
    metric varchar not null,
    before decimal(38,12),
    after decimal(38,12),
    seen_at timestamp not null,
    load_id bigint not null,
    after_final boolean,
    before_text varchar,
    after_text varchar
);

comment on table ripen.restatements is 'Totals of additive metrics that a later load of a period changed';
comment on column ripen.restatements.slice is 'Name of the slice';
comment on column ripen.restatements.period is 'First day of the period';
comment on column ripen.restatements.metric is 'Name of the metric';
comment on column ripen.restatements.before is 'Total over the rows of the period before the load, to 12 digits after the point; NULL for no value, or more than 22 digits before the point';
comment on column ripen.restatements.after is 'Total over the rows of the period after the load, to 12 digits after the point; NULL for no value, or more than 22 digits before the point';
comment on column ripen.restatements.seen_at is 'When the load that changed it was requested (UTC)';
comment on column ripen.restatements.load_id is 'The load that changed it';
comment on column ripen.restatements.after_final is 'Whether the total was final before it changed: then its horizon was too short';
comment on column ripen.restatements.before_text is 'The total before with every digit, without trailing zeros; NULL for no value';
comment on column ripen.restatements.after_text is 'The total after with every digit, without trailing zeros; NULL for no value';

create table ripen.rejected_rows (
    run_id varchar not null,
    slice varchar not null,
    start_day date not null,
    end_day date not null,
    reason varchar not null,
    row json not null,
    seen_at timestamp not null
);

comment on table ripen.rejected_rows is 'Rows that could not be stored exactly, as the service sent them';
comment on column ripen.rejected_rows.run_id is 'The run that found it';
comment on column ripen.rejected_rows.slice is 'Name of the slice';
comment on column ripen.rejected_rows.start_day is 'First day of the window';
comment on column ripen.rejected_rows.end_day is 'The day after its last one';
comment on column ripen.rejected_rows.reason is 'The metric, what is wrong, and the text itself';
comment on column ripen.rejected_rows.row is 'The row as the service sent it';
comment on column ripen.rejected_rows.seen_at is 'When it was found (UTC)';

create table ripen.warnings (
    run_id varchar not null,
    slice varchar,
    start_day date,
    end_day date,
    code varchar not null,
    message varchar not null,
    seen_at timestamp not null
);

comment on table ripen.warnings is 'What was unusual without stopping a run';
comment on column ripen.warnings.run_id is 'The run that found it';
comment on column ripen.warnings.slice is 'Name of the slice, NULL if it concerns the whole run';
comment on column ripen.warnings.start_day is 'First day of the window, if one is concerned';
comment on column ripen.warnings.end_day is 'The day after its last one';
comment on column ripen.warnings.code is 'Stable, for queries and alerts';
comment on column ripen.warnings.message is 'What was unusual';
comment on column ripen.warnings.seen_at is 'When it was found (UTC)';

create table ripen.schema_changes (
    run_id varchar not null,
    object varchar not null,
    name varchar,
    change varchar not null,
    before varchar,
    after varchar,
    seen_at timestamp not null
);

comment on table ripen.schema_changes is 'Columns that were added, removed or widened, tables that were swapped, catalog items that were added, removed or changed';
comment on column ripen.schema_changes.run_id is 'The run that made or found it';
comment on column ripen.schema_changes.object is 'Name of the slice, or catalog';
comment on column ripen.schema_changes.name is 'Column or item, NULL if the whole object is concerned';
comment on column ripen.schema_changes.change is 'What happened';
comment on column ripen.schema_changes.before is 'Type, fingerprint or text before';
comment on column ripen.schema_changes.after is 'Type, fingerprint or text after';
comment on column ripen.schema_changes.seen_at is 'When (UTC)';

create table ripen.catalog (
    filter varchar not null,
    id varchar not null,
    name varchar not null,
    short_name varchar not null,
    section varchar not null,
    formatting varchar not null,
    description varchar not null,
    attributes varchar,
    seen_at timestamp not null
);

comment on table ripen.catalog is 'Everything filters-data listed, as last seen';
comment on column ripen.catalog.filter is 'The filter name it was listed under';
comment on column ripen.catalog.id is 'What to use in requests';
comment on column ripen.catalog.name is 'Readable name';
comment on column ripen.catalog.short_name is 'Abbreviated name, may be empty';
comment on column ripen.catalog.section is 'Section the service puts it in';
comment on column ripen.catalog.formatting is 'integer, money, decimal, percent and others';
comment on column ripen.catalog.description is 'What it means, in the words of the service';
comment on column ripen.catalog.attributes is 'Any other fields, as a JSON object; NULL if there are none';
comment on column ripen.catalog.seen_at is 'When it was fetched (UTC)';

create table main.metrics (
    id varchar not null,
    name varchar not null,
    short_name varchar not null,
    section varchar not null,
    formatting varchar not null,
    description varchar not null,
    kind varchar not null,
    horizon_from varchar not null,
    horizon_days double,
    additive boolean not null,
    type varchar not null
);

comment on table main.metrics is 'Metrics a report can request, and how their values settle, from filters-data';
comment on column main.metrics.id is 'What to use in requests';
comment on column main.metrics.name is 'Readable name';
comment on column main.metrics.short_name is 'Abbreviated name, may be empty';
comment on column main.metrics.section is 'Section the service puts it in';
comment on column main.metrics.formatting is 'integer, money, decimal, percent and others';
comment on column main.metrics.description is 'What it means, in the words of the service';
comment on column main.metrics.kind is 'plain, cohort, spend, framework, lifetime, computed, or unknown: not documented';
comment on column main.metrics.horizon_from is 'Where the horizon comes from: the documented form of the metric, and the latest of its parts';
comment on column main.metrics.horizon_days is 'Days after a period ends until the value is final; NULL means never';
comment on column main.metrics.additive is 'Whether values add up over rows';
comment on column main.metrics.type is 'SQL type of its columns unless a slice says otherwise';

create view main.dimensions as
select
    id,
    name,
    section,
    description
from ripen.catalog
where filter = 'dimensions'
order by filter, id;

comment on view main.dimensions is 'Dimensions a report can be grouped by, from filters-data';
comment on column main.dimensions.id is 'What to use in requests';
comment on column main.dimensions.name is 'Readable name';
comment on column main.dimensions.section is 'Section the service puts it in';
comment on column main.dimensions.description is 'What it means, in the words of the service';

create view main.apps as
select
    id as app_token,
    name as app,
    description,
    attributes ->> '$.currency' as currency,
    attributes ->> '$.default_store_app_id' as default_store_app_id,
    attributes ->> '$.platforms' as platforms,
    attributes
from ripen.catalog
where filter = 'apps'
order by filter, id;

comment on view main.apps is 'Apps the account can see, from filters-data';
comment on column main.apps.app_token is 'Id of the app in the service';
comment on column main.apps.app is 'Name of the app';
comment on column main.apps.description is 'What it is, in the words of the service';
comment on column main.apps.currency is 'Currency of the app, as the service writes it; NULL if it is not stated';
comment on column main.apps.default_store_app_id is 'Id of the app in its store; NULL if it is not stated';
comment on column main.apps.platforms is 'Platforms of the app, as JSON; NULL if it is not stated';
comment on column main.apps.attributes is 'Any other fields, as a JSON object; NULL if there are none';

create view main.apps_network as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'apps_network'
order by filter, id;

comment on view main.apps_network is 'Apps by their ids in the stores, from filters-data';
comment on column main.apps_network.id is 'Id of the app in its store, as the service writes it';
comment on column main.apps_network.name is 'Readable name';
comment on column main.apps_network.description is 'What it means, in the words of the service';

create view main.countries as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'countries'
order by filter, id;

comment on view main.countries is 'Countries, from filters-data';
comment on column main.countries.id is 'What the dimension country_code carries';
comment on column main.countries.name is 'Readable name';
comment on column main.countries.description is 'What it means, in the words of the service';

create view main.currencies as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'currencies'
order by filter, id;

comment on view main.currencies is 'Currencies, from filters-data';
comment on column main.currencies.id is 'What the parameter currency takes and the dimension currency_code carries';
comment on column main.currencies.name is 'Readable name';
comment on column main.currencies.description is 'What it means, in the words of the service';

create view main.os_names as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'os_names'
order by filter, id;

comment on view main.os_names is 'Operating systems, from filters-data';
comment on column main.os_names.id is 'What the dimension os_name carries and the parameter os_names takes';
comment on column main.os_names.name is 'Readable name';
comment on column main.os_names.description is 'What it means, in the words of the service';

create view main.networks as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'networks'
order by filter, id;

comment on view main.networks is 'Advertising networks, from filters-data';
comment on column main.networks.id is 'What the dimension network carries';
comment on column main.networks.name is 'Readable name';
comment on column main.networks.description is 'What it means, in the words of the service';

create view main.ad_revenue_sources as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'ad_revenue_sources'
order by filter, id;

comment on view main.ad_revenue_sources is 'Sources of ad revenue, from filters-data';
comment on column main.ad_revenue_sources.id is 'What the parameter ad_revenue_sources takes';
comment on column main.ad_revenue_sources.name is 'Readable name';
comment on column main.ad_revenue_sources.description is 'What it means, in the words of the service';

create view main.store_type as
select
    id,
    name,
    description
from ripen.catalog
where filter = 'store_type'
order by filter, id;

comment on view main.store_type is 'Stores apps are installed from, from filters-data';
comment on column main.store_type.id is 'What the dimension store_type carries';
comment on column main.store_type.name is 'Readable name';
comment on column main.store_type.description is 'What it means, in the words of the service';

create view main.report_options as
select
    filter as parameter,
    id,
    name,
    description
from ripen.catalog
where filter in (
    'cohort_maturity',
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
    'skad_time_adjustment'
)
order by filter, id;

comment on view main.report_options is 'What the parameters of a report can be set to, from filters-data';
comment on column main.report_options.parameter is 'The list it is in, named after its parameter if there is one';
comment on column main.report_options.id is 'What the parameter takes';
comment on column main.report_options.name is 'Readable name';
comment on column main.report_options.description is 'What it means, in the words of the service';

create table main.partners (
    partner_id varchar not null,
    display_name varchar not null,
    supports_cost_data boolean,
    is_listed boolean not null
);

comment on table main.partners is 'Partners as last listed, and those that only loaded rows name';
comment on column main.partners.partner_id is 'Partner id, an integer where the service lists the partner';
comment on column main.partners.display_name is 'Name of the partner';
comment on column main.partners.supports_cost_data is 'Whether the partner supports cost data, NULL if it is not listed';
comment on column main.partners.is_listed is 'Whether the service lists it; false for partners that only rows name, such as organic traffic';

create table main.partners_history (
    partner_id varchar not null,
    display_name varchar not null,
    supports_cost_data boolean,
    is_listed boolean not null,
    valid_from timestamp not null,
    valid_to timestamp
);

comment on table main.partners_history is 'Every version of every partner';
comment on column main.partners_history.partner_id is 'Partner id, an integer where the service lists the partner';
comment on column main.partners_history.display_name is 'Name of the partner';
comment on column main.partners_history.supports_cost_data is 'Whether the partner supports cost data, NULL if it is not listed';
comment on column main.partners_history.is_listed is 'Whether the service lists it; false for partners that only rows name, such as organic traffic';
comment on column main.partners_history.valid_from is 'The as-of instant this version was first seen at (UTC)';
comment on column main.partners_history.valid_to is 'The as-of instant at which it was replaced or no longer listed, exclusive (UTC); NULL while current';

create table main.links (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    root_token varchar not null,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    inherited_partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    network_name varchar not null,
    campaign_name varchar,
    adgroup_name varchar,
    creative_name varchar
);

comment on table main.links is 'Links as last listed, one row per link of every level; ripen.link_crawls says when each app was listed';
comment on column main.links.token is 'Link token, unique in its app: join on app_token and token';
comment on column main.links.app_token is 'The app the link belongs to';
comment on column main.links.parent_token is 'The link above, NULL for a network';
comment on column main.links.root_token is 'The network at the top of the path, itself for a network';
comment on column main.links.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column main.links.name is 'The labels of the path, which the service joins with ::';
comment on column main.links.label is 'The name it was created with';
comment on column main.links.archived is 'Whether the link is archived';
comment on column main.links.has_subtrackers is 'Whether the link has sub-links';
comment on column main.links.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column main.links.inherited_partner_id is 'The partner of the nearest link above that has one, NULL for a network';
comment on column main.links.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column main.links.url is 'Link URL, byte for byte';
comment on column main.links.click_url is 'Click URL with its placeholders, byte for byte';
comment on column main.links.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column main.links.network_name is 'Label of the network in the path of the link';
comment on column main.links.campaign_name is 'Label of the campaign in the path, NULL above it';
comment on column main.links.adgroup_name is 'Label of the ad group in the path, NULL above it';
comment on column main.links.creative_name is 'Label of the creative in the path, NULL above it';

create table main.links_history (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    root_token varchar not null,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    inherited_partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    network_name varchar not null,
    campaign_name varchar,
    adgroup_name varchar,
    creative_name varchar,
    valid_from timestamp not null,
    valid_to timestamp
);

comment on table main.links_history is 'Every version of every link, the names of its path included';
comment on column main.links_history.token is 'Link token, unique in its app: join on app_token and token';
comment on column main.links_history.app_token is 'The app the link belongs to';
comment on column main.links_history.parent_token is 'The link above, NULL for a network';
comment on column main.links_history.root_token is 'The network at the top of the path, itself for a network';
comment on column main.links_history.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column main.links_history.name is 'The labels of the path, which the service joins with ::';
comment on column main.links_history.label is 'The name it was created with';
comment on column main.links_history.archived is 'Whether the link is archived';
comment on column main.links_history.has_subtrackers is 'Whether the link has sub-links';
comment on column main.links_history.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column main.links_history.inherited_partner_id is 'The partner of the nearest link above that has one, NULL for a network';
comment on column main.links_history.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column main.links_history.url is 'Link URL, byte for byte';
comment on column main.links_history.click_url is 'Click URL with its placeholders, byte for byte';
comment on column main.links_history.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column main.links_history.network_name is 'Label of the network in the path of the link';
comment on column main.links_history.campaign_name is 'Label of the campaign in the path, NULL above it';
comment on column main.links_history.adgroup_name is 'Label of the ad group in the path, NULL above it';
comment on column main.links_history.creative_name is 'Label of the creative in the path, NULL above it';
comment on column main.links_history.valid_from is 'The as-of instant this version was first seen at (UTC)';
comment on column main.links_history.valid_to is 'The as-of instant at which it was replaced or no longer listed, exclusive (UTC); NULL while current';

create table ripen.link_crawls (
    app_token varchar not null,
    crawled_at timestamp not null,
    max_level integer not null,
    links bigint not null,
    removed bigint not null,
    requests bigint not null,
    run_id varchar not null
);

comment on table ripen.link_crawls is 'One row per complete crawl of the links of an app';
comment on column ripen.link_crawls.app_token is 'The app';
comment on column ripen.link_crawls.crawled_at is 'The as-of instant of the crawl (UTC)';
comment on column ripen.link_crawls.max_level is 'The deepest level that was requested';
comment on column ripen.link_crawls.links is 'Links the app had';
comment on column ripen.link_crawls.removed is 'Links that were stored before and are no longer listed';
comment on column ripen.link_crawls.requests is 'Pages that were requested; retries are not counted';
comment on column ripen.link_crawls.run_id is 'The run that crawled';

create table ripen_internal.unlisted_links (
    app_token varchar not null,
    path varchar[] not null,
    seen_at timestamp not null
);

comment on table ripen_internal.unlisted_links is 'Paths named by loaded rows for which no link was stored; kept only if links: every is set; a crawl after seen_at has looked for them';
comment on column ripen_internal.unlisted_links.app_token is 'The app';
comment on column ripen_internal.unlisted_links.path is 'The labels of the row, from the network down';
comment on column ripen_internal.unlisted_links.seen_at is 'The as-of instant of the run that loaded the first such row (UTC)';

create table ripen_internal.staged_partners (
    partner_id varchar not null,
    display_name varchar not null,
    supports_cost_data boolean,
    is_listed boolean not null
);

comment on table ripen_internal.staged_partners is 'Partners that a refresh is about to store';
comment on column ripen_internal.staged_partners.partner_id is 'Partner id, an integer where the service lists the partner';
comment on column ripen_internal.staged_partners.display_name is 'Name of the partner';
comment on column ripen_internal.staged_partners.supports_cost_data is 'Whether the partner supports cost data, NULL if it is not listed';
comment on column ripen_internal.staged_partners.is_listed is 'Whether the service lists it; false for partners that only rows name, such as organic traffic';

create table ripen_internal.staged_links (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    root_token varchar not null,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    inherited_partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    network_name varchar not null,
    campaign_name varchar,
    adgroup_name varchar,
    creative_name varchar
);

comment on table ripen_internal.staged_links is 'Links of an app that a refresh is about to store, with their paths';
comment on column ripen_internal.staged_links.token is 'Link token, unique in its app';
comment on column ripen_internal.staged_links.app_token is 'The app the link belongs to';
comment on column ripen_internal.staged_links.parent_token is 'The link above, NULL for a network';
comment on column ripen_internal.staged_links.root_token is 'The network at the top of the path, itself for a network';
comment on column ripen_internal.staged_links.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column ripen_internal.staged_links.name is 'The labels of the path, which the service joins with ::';
comment on column ripen_internal.staged_links.label is 'The name it was created with';
comment on column ripen_internal.staged_links.archived is 'Whether the link is archived';
comment on column ripen_internal.staged_links.has_subtrackers is 'Whether the link has sub-links';
comment on column ripen_internal.staged_links.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column ripen_internal.staged_links.inherited_partner_id is 'The partner of the nearest link above that has one, NULL for a network';
comment on column ripen_internal.staged_links.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column ripen_internal.staged_links.url is 'Link URL, byte for byte';
comment on column ripen_internal.staged_links.click_url is 'Click URL with its placeholders, byte for byte';
comment on column ripen_internal.staged_links.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column ripen_internal.staged_links.network_name is 'Label of the network in the path of the link';
comment on column ripen_internal.staged_links.campaign_name is 'Label of the campaign in the path, NULL above it';
comment on column ripen_internal.staged_links.adgroup_name is 'Label of the ad group in the path, NULL above it';
comment on column ripen_internal.staged_links.creative_name is 'Label of the creative in the path, NULL above it';

create table ripen.spend (
    cost_id varchar primary key,
    cost_type varchar not null,
    cost_currency varchar not null,
    cost_amount varchar not null,
    tag varchar not null,
    engaged_at varchar,
    content varchar not null,
    outcome varchar not null,
    outcome_before varchar,
    status integer,
    reason varchar,
    file varchar not null,
    line bigint not null,
    sent_at timestamp not null,
    settled_at timestamp
);

comment on table ripen.spend is 'Ad spend that was sent, one row per Cost ID, with its outcome';
comment on column ripen.spend.cost_id is 'Cost ID, by which the service matches the spend to a click or impression';
comment on column ripen.spend.cost_type is 'Pricing model as it was sent, such as cpc or cpi';
comment on column ripen.spend.cost_currency is 'ISO 4217 currency code';
comment on column ripen.spend.cost_amount is 'The amount, in the exact text that was sent';
comment on column ripen.spend.tag is 'The label that was sent for logging and debugging';
comment on column ripen.spend.engaged_at is 'When the engagement was, as the file states it, NULL if it does not; never sent';
comment on column ripen.spend.content is 'Hash of cost type, currency, amount by value and tag, to recognise the same line';
comment on column ripen.spend.outcome is 'sending, accepted, rejected or unknown; sending without a live run means unknown';
comment on column ripen.spend.outcome_before is 'The outcome before it was last sent, NULL if it was sent for the first time';
comment on column ripen.spend.status is 'HTTP status of a rejection';
comment on column ripen.spend.reason is 'Why it was rejected, or why its outcome is unknown';
comment on column ripen.spend.file is 'The file it was last sent from';
comment on column ripen.spend.line is 'The line of that file, the first being 1';
comment on column ripen.spend.sent_at is 'When it was last about to be sent (UTC)';
comment on column ripen.spend.settled_at is 'When the outcome was recorded (UTC)';

create table ripen_internal.additivity (
    slice varchar not null,
    metric varchar not null,
    adds_up boolean not null,
    seen_at timestamp not null
);

comment on table ripen_internal.additivity is 'Metrics whose additivity is not documented, and what the totals of answers have shown';
comment on column ripen_internal.additivity.slice is 'Name of the slice';
comment on column ripen_internal.additivity.metric is 'Name of the metric';
comment on column ripen_internal.additivity.adds_up is 'Whether the rows add up to the total, false, also beside true: the metric is not additive here and is no longer summed';
comment on column ripen_internal.additivity.seen_at is 'When an answer first showed it (UTC)';

create table ripen_internal.warehouse_identity (
    id uuid not null
);

comment on table ripen_internal.warehouse_identity is 'Which warehouse this is, one row; every published copy states it';
comment on column ripen_internal.warehouse_identity.id is 'Made with the warehouse and never changed';

create table ripen_internal.maturation (
    slice varchar not null,
    metric varchar not null,
    age_days integer not null,
    periods integer not null,
    share_q25 double not null,
    share_median double not null,
    share_q75 double not null
);

comment on table ripen_internal.maturation is 'How much of the final total of a period was known at each age, over periods that are final now';
comment on column ripen_internal.maturation.slice is 'Name of the slice';
comment on column ripen_internal.maturation.metric is 'Name of the metric';
comment on column ripen_internal.maturation.age_days is 'Days from the last day of the period to the control total';
comment on column ripen_internal.maturation.periods is 'Final periods with a control total of that age';
comment on column ripen_internal.maturation.share_q25 is 'Total at that age over the final total: a quarter of the periods had less';
comment on column ripen_internal.maturation.share_median is 'Total at that age over the final total: half of the periods had less';
comment on column ripen_internal.maturation.share_q75 is 'Total at that age over the final total: three quarters of the periods had less';

create table ripen_internal.projections (
    slice varchar not null,
    metric varchar not null,
    period date not null,
    load_id bigint not null,
    age_days integer,
    factor double,
    factor_low double,
    factor_high double,
    periods integer,
    basis varchar
);

comment on table ripen_internal.projections is 'Projections, not measurements: the factor from the loaded total of a maturing period to the final total to expect';
comment on column ripen_internal.projections.slice is 'Name of the slice';
comment on column ripen_internal.projections.metric is 'Name of the metric';
comment on column ripen_internal.projections.period is 'First day of the period';
comment on column ripen_internal.projections.load_id is 'The load that the factor applies to; it is void once another load replaced that one';
comment on column ripen_internal.projections.age_days is 'Days from the last day of the period to the control total that is projected';
comment on column ripen_internal.projections.factor is 'Projected final total over the loaded total, NULL if history says too little';
comment on column ripen_internal.projections.factor_low is 'The same for the lower end of the 80 % interval';
comment on column ripen_internal.projections.factor_high is 'The same for the upper end of the 80 % interval';
comment on column ripen_internal.projections.periods is 'The fewest periods behind any factor of the ladder';
comment on column ripen_internal.projections.basis is 'What the factor comes from, or why there is none';

create table ripen.projection_errors (
    slice varchar not null,
    metric varchar not null,
    age_days integer not null,
    cohorts integer not null,
    median_abs_error double,
    median_abs_error_as_is double,
    coverage double,
    basis varchar
);

comment on table ripen.projection_errors is 'The backtest: what would have been projected in the past from what was known then, compared with what became final';
comment on column ripen.projection_errors.slice is 'Name of the slice';
comment on column ripen.projection_errors.metric is 'Name of the metric';
comment on column ripen.projection_errors.age_days is 'Days from the last day of the period to the control total that would have been projected';
comment on column ripen.projection_errors.cohorts is 'Periods for which a projection could have been made at that age';
comment on column ripen.projection_errors.median_abs_error is 'Median distance of the projected from the final total, as a share of it';
comment on column ripen.projection_errors.median_abs_error_as_is is 'The same for the total as it was at that age';
comment on column ripen.projection_errors.coverage is 'Share of final totals inside the 80 % interval that was known at the time, NULL with fewer than eight';
comment on column ripen.projection_errors.basis is 'What totals of that age are projected from, or why they are not: as in the views _projected';

create table ripen_internal.horizon_evidence (
    slice varchar not null,
    metric varchar not null,
    final_periods integer not null,
    final_moved integer not null,
    last_moved_day date,
    last_change_age integer,
    supported_days integer,
    supported_periods integer not null,
    supported_moved integer not null
);

comment on table ripen_internal.horizon_evidence is 'What control totals show of the horizon of each metric';
comment on column ripen_internal.horizon_evidence.slice is 'Name of the slice';
comment on column ripen_internal.horizon_evidence.metric is 'Name of the metric';
comment on column ripen_internal.horizon_evidence.final_periods is 'Periods whose total was read again after it was final';
comment on column ripen_internal.horizon_evidence.final_moved is 'Those whose total had changed';
comment on column ripen_internal.horizon_evidence.last_moved_day is 'The day on which such a change was last found, NULL if there was none';
comment on column ripen_internal.horizon_evidence.last_change_age is 'Highest age in days at which any total had changed, NULL if none did';
comment on column ripen_internal.horizon_evidence.supported_days is 'The horizon that the history supports, NULL if it supports none';
comment on column ripen_internal.horizon_evidence.supported_periods is 'Periods that were read long enough to tell';
comment on column ripen_internal.horizon_evidence.supported_moved is 'Those whose total changed after that horizon';

create table ripen_internal.publishes (
    number bigint not null,
    published_at timestamp not null,
    copies varchar []
);

comment on table ripen_internal.publishes is 'One row per publish; every copy states the one it is of';
comment on column ripen_internal.publishes.number is 'Counts the publishes of this warehouse';
comment on column ripen_internal.publishes.published_at is 'When it began (UTC)';
comment on column ripen_internal.publishes.copies is 'Paths of the copies that it wrote; NULL if it wrote none or is not over, as in the copy itself';

create table ripen_internal.declarations (
    slice varchar,
    name varchar not null,
    hash varchar not null,
    state varchar not null
);

comment on table ripen_internal.declarations is 'What the views and comments of the warehouse were last made from, so that only what changed or is missing is made again';
comment on column ripen_internal.declarations.slice is 'Name of the slice they are about, NULL if they are about several';
comment on column ripen_internal.declarations.name is 'What was declared, each once';
comment on column ripen_internal.declarations.hash is 'Hash of what the statements are made from';
comment on column ripen_internal.declarations.state is 'Hash of the tables and views as the statements left them';

create table ripen_internal.doubted_lists (
    subject varchar not null,
    missing bigint not null,
    seen_at timestamp not null
);

comment on table ripen_internal.doubted_lists is 'Lists of links and partners that were not believed because too many stored items were missing';
comment on column ripen_internal.doubted_lists.subject is 'links of an app, by its token, or partners';
comment on column ripen_internal.doubted_lists.missing is 'How many stored items were missing';
comment on column ripen_internal.doubted_lists.seen_at is 'The as-of instant of the sync that found it (UTC)';

create table ripen_internal.row_scans (
    reader varchar not null,
    load_id bigint not null
);

comment on table ripen_internal.row_scans is 'The load up to which rows were searched for new names, one row per reader';
comment on column ripen_internal.row_scans.reader is 'partners or links: what was searched for';
comment on column ripen_internal.row_scans.load_id is 'The newest load whose rows were searched, 0 before the first search';

insert into ripen_internal.row_scans values ('partners', 0), ('links', 0);

create view ripen.finality as
select
    p.slice,
    p.start_day as period,
    m.metric,
    p.fetched_at,
    p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds) as final_at,
    coalesce(
        list_contains(l.metrics, m.metric)
        and p.trusted_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
        and not coalesce(list_contains(p.immature, m.metric), false),
        false
    ) as is_final
from ripen.periods as p
join ripen.loads as l on l.load_id = p.load_id
join ripen.slice_tables as t
    on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age;

comment on view ripen.finality is 'Per slice, period and metric: whether the stored value is final';
comment on column ripen.finality.slice is 'Name of the slice';
comment on column ripen.finality.period is 'First day of the period';
comment on column ripen.finality.metric is 'Name of the metric';
comment on column ripen.finality.fetched_at is 'When the stored value was requested (UTC)';
comment on column ripen.finality.final_at is 'The instant from which a fetched value is final (UTC); NULL means never';
comment on column ripen.finality.is_final is 'Whether the stored value was computed at or after that instant, and its answer did not call it immature';

create view ripen_internal.maturing as
select
    p.slice,
    p.start_day as period,
    m.metric,
    p.load_id,
    epoch(coalesce(p.computed_at, p.fetched_at) - p.ends_at) as loaded_after,
    case
        when p.state = 'open' then 'not over'
        when not p.whole then 'cut'
        when m.horizon_seconds is null then 'never final'
        when not m.additive then 'does not add up'
        when t.control is null then 'no control totals'
        when p.verdict = 'unproven' or p.rejected > 0 or list_contains(p.differing, m.metric) then 'incomplete'
    end as basis
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age
join ripen.finality as f on f.slice = p.slice and f.period = p.start_day and f.metric = m.metric
where not f.is_final;

comment on view ripen_internal.maturing is 'The loaded values that are not final';
comment on column ripen_internal.maturing.slice is 'Name of the slice';
comment on column ripen_internal.maturing.period is 'First day of the period';
comment on column ripen_internal.maturing.metric is 'Name of the metric';
comment on column ripen_internal.maturing.load_id is 'The newest load of the period';
comment on column ripen_internal.maturing.loaded_after is 'Seconds from the end of the period to that load';
comment on column ripen_internal.maturing.basis is 'Why its final total is never projected, NULL if it may be';

insert into ripen_internal.warehouse_identity
select uuid() as id;

-- A ratio over any rows: a sum over a sum, of the rows alone in which both are known, so that on a `_final` view nothing that
-- is still maturing stands above or below the line. NULL where there is nothing to divide by.
create macro main.ratio(numerator, denominator) as
    sum(numerator) filter (where numerator is not null and denominator is not null)
    / nullif(sum(denominator) filter (where numerator is not null and denominator is not null), 0);

comment on macro main.ratio is 'Sum over sum, over the rows in which both are known; NULL if there is nothing to divide by.';
