-- The ledger: what was asked, what was loaded, what moved. Instants are TIMESTAMP in UTC; days are civil dates in the
-- slice's own offset; intervals are half-open. Append-only: a released migration is never edited.

create schema if not exists ripen;

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
    summary json
);

comment on table ripen.runs is 'One row per invocation of sync, backfill or replay';
comment on column ripen.runs.as_of is 'The instant the run planned for (UTC)';
comment on column ripen.runs.status is 'running, succeeded, partial, failed or interrupted; running without a live process means killed';

create table ripen.slice_tables (
    slice varchar not null,
    fingerprint varchar not null,
    table_name varchar not null,
    state varchar not null,
    week_starts_on tinyint,
    max_days integer,
    parts json,
    created_at timestamp not null,
    live_at timestamp
);

comment on table ripen.slice_tables is 'The tables that hold a slice: the live one and, while its meaning changes, the one being built';
comment on column ripen.slice_tables.fingerprint is 'Hash of everything that gives the rows their meaning: dimensions, filters, parameters';
comment on column ripen.slice_tables.state is 'live or building';
comment on column ripen.slice_tables.week_starts_on is 'Weekday the service begins its weeks with (0 Sunday, 1 Monday), learned from its labels';
comment on column ripen.slice_tables.max_days is 'Most days one request could ask for before it was too heavy; null while none was';

comment on column ripen.slice_tables.parts is 'Dimension values a single period had to be divided by to be light enough; null while none was';

create table ripen.slice_metrics (
    slice varchar not null,
    metric varchar not null,
    position integer not null,
    type varchar not null,
    family varchar not null,
    additive boolean not null,
    horizon_seconds bigint,
    settle_seconds bigint not null
);

comment on table ripen.slice_metrics is 'The metrics of each slice as last configured, and how their values settle';
comment on column ripen.slice_metrics.horizon_seconds is 'How long after a period ends the value may still change; null means for ever';

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
    loaded_at timestamp not null
);

comment on table ripen.loads is 'One row per window that became visible, written in the same transaction as its rows';
comment on column ripen.loads.end_day is 'Exclusive';
comment on column ripen.loads.reasons is 'Why the window was due';
comment on column ripen.loads.metrics is 'Metrics whose values came with the load and are still held; one that is taken out of the slice leaves';
comment on column ripen.loads.verdict is 'Completeness: proven, or unverifiable when the answer carried no additive total to compare with';
comment on column ripen.loads.proof is 'Per additive metric the sum of the rows and the total the service stated';

create table ripen.periods (
    slice varchar not null,
    fingerprint varchar not null,
    start_day date not null,
    end_day date not null,
    asked_start date not null,
    asked_end date not null,
    load_id bigint not null,
    fetched_at timestamp not null,
    ends_at timestamp not null,
    whole boolean not null,
    rows bigint not null,
    rejected bigint not null,
    state varchar not null,
    next_refresh_at timestamp
);

comment on table ripen.periods is 'Per slice and period: what was last fetched, and whether it is final';
comment on column ripen.periods.end_day is 'Exclusive';
comment on column ripen.periods.asked_start is 'First day of the period that was asked for; later than start_day when the date period cut it';
comment on column ripen.periods.asked_end is 'Exclusive; earlier than end_day when the date period cut it';
comment on column ripen.periods.fetched_at is 'When the newest load of the period was asked for, or the as-of instant it was asked under (UTC)';
comment on column ripen.periods.ends_at is 'The instant the period ended, in the offset of the slice (UTC)';
comment on column ripen.periods.whole is 'False when the date period cut the calendar bucket: such a period is never final';
comment on column ripen.periods.state is 'open: not over; maturing: some metric may still change; final: none can';
comment on column ripen.periods.next_refresh_at is 'The instant from which something new can be expected, null when nothing more is';

create table ripen.restatements (
    slice varchar not null,
    period date not null,
    metric varchar not null,
    before decimal(38, 12),
    after decimal(38, 12),
    seen_at timestamp not null,
    load_id bigint not null
);

comment on table ripen.restatements is 'Totals of additive metrics that a later load of a period changed';
comment on column ripen.restatements.period is 'First day of the period';
comment on column ripen.restatements.seen_at is 'When the load that changed it was asked for (UTC)';

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

create table ripen.warnings (
    run_id varchar not null,
    slice varchar,
    start_day date,
    end_day date,
    code varchar not null,
    message varchar not null,
    seen_at timestamp not null
);

comment on table ripen.warnings is 'What was odd and did not stop a load';

create table ripen.schema_changes (
    run_id varchar not null,
    object varchar not null,
    name varchar,
    change varchar not null,
    before varchar,
    after varchar,
    seen_at timestamp not null
);

comment on table ripen.schema_changes is 'Columns that were added, removed or widened, tables that were swapped, catalog items that came, went or changed';

create table ripen.catalog (
    filter varchar not null,
    id varchar not null,
    name varchar not null,
    short_name varchar not null,
    section varchar not null,
    formatting varchar not null,
    description varchar not null,
    seen_at timestamp not null
);

comment on table ripen.catalog is 'Everything filters-data listed, as last seen';

create sequence ripen.load_ids;

create view ripen.finality as
select
    p.slice,
    p.start_day as period,
    m.metric,
    p.fetched_at,
    p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds) as final_at,
    coalesce(
        p.whole
        and p.rejected = 0
        and list_contains(l.metrics, m.metric)
        and p.fetched_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds),
        false
    ) as is_final
from ripen.periods as p
join ripen.loads as l on l.load_id = p.load_id
join ripen.slice_tables as t
    on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.slice_metrics as m on m.slice = p.slice;

comment on view ripen.finality is 'Per slice, period and metric: whether the stored value is final';
comment on column ripen.finality.period is 'First day of the period';
comment on column ripen.finality.final_at is 'The instant from which a fetched value is final (UTC); null means never';
comment on column ripen.finality.is_final is 'Whether the stored value was fetched at or after that instant';
