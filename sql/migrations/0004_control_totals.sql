-- Adds control totals, what the service states each night per period and metric, and removes the audits that they replace.
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
comment on column ripen.control_totals.seen_at is 'When it was requested, or the as-of instant of the run (UTC); it holds until the next row of the same cell';
comment on column ripen.control_totals.value is 'The total as the nearest double; null if the service states none';

create table ripen.control_readings (
    control varchar not null,
    run_id varchar not null,
    read_at timestamp not null,
    start_day date not null,
    end_day date not null
);

comment on table ripen.control_readings is 'Which days of control totals were read when';
comment on column ripen.control_readings.control is 'Name of the control totals, as in ripen.slice_tables';
comment on column ripen.control_readings.run_id is 'The run it belongs to';
comment on column ripen.control_readings.read_at is 'When they were requested, or the as-of instant of the run (UTC)';
comment on column ripen.control_readings.start_day is 'First day';
comment on column ripen.control_readings.end_day is 'Exclusive';

alter table ripen.slice_tables add column control varchar;

comment on column ripen.slice_tables.control is 'The control totals that its rows are compared with; null if there are none';
comment on column ripen.slice_tables.state is 'live, building, or control: no table of its own, but control totals';

alter table ripen.slice_metrics add column comparable_seconds bigint;

comment on column ripen.slice_metrics.comparable_seconds is 'How long after a period ends its total is compared with the service''s each night; null means never';

drop view ripen.audits;
drop view ripen_internal.final_fetches;
drop table ripen_internal.audit_draws;

create view ripen_internal.final_fetches as
with fetches as (
    select
        p.slice,
        p.start_day as period,
        m.metric,
        l.load_id,
        l.run_id,
        l.known_at as fetched_at,
        l.known_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds) as is_final
    from ripen.periods as p
    join ripen.slice_tables as t
        on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    join ripen.slice_metrics as m
        on m.slice = p.slice and m.age = p.age and m.additive and m.horizon_seconds is not null
    join (
        select load_id, run_id, slice, fingerprint, start_day, end_day, known_at, verdict, rows_rejected, unnest(metrics) as metric
        from ripen.loads
    ) as l
        on
            l.slice = p.slice
            and l.metric = m.metric
            and l.fingerprint = p.fingerprint
            and l.start_day <= p.start_day
            and l.end_day >= p.end_day
            and l.verdict <> 'unproven'
            and l.rows_rejected = 0
    where p.whole
),

known as (
    select
        f.*,
        min(f.load_id) filter (f.is_final) over cell as first_final
    from fetches as f
    window cell as (partition by f.slice, f.period, f.metric)
)

select
    k.slice,
    k.period,
    k.metric,
    k.fetched_at,
    coalesce(r.after_final, false) as has_changed,
    k.load_id
from known as k
join ripen.runs as n on n.run_id = k.run_id and n.command <> 'replay'
left join ripen.restatements as r
    on r.slice = k.slice and r.period = k.period and r.metric = k.metric and r.load_id = k.load_id
where k.is_final and k.load_id > k.first_final;

comment on view ripen_internal.final_fetches is 'Every fetch of a cell that was already final by the present horizon of its metric';
comment on column ripen_internal.final_fetches.slice is 'Name of the slice';
comment on column ripen_internal.final_fetches.period is 'First day of the period';
comment on column ripen_internal.final_fetches.metric is 'Name of the additive metric';
comment on column ripen_internal.final_fetches.fetched_at is 'The instant that counts as the fetch (UTC)';
comment on column ripen_internal.final_fetches.has_changed is 'Whether the total had changed since it was final';
comment on column ripen_internal.final_fetches.load_id is 'The load that answered';
