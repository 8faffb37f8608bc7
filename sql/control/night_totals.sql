-- The totals that the service states now for the periods of some days, over the hours of a day.
-- $1 what is read (JSON list of control, start_day, end_day, metrics)
-- Returns one row per control, period and metric with a value: control, start_day, metric, value.
with requested as (
    select
        unnest(
            from_json($1::json, '[{"control":"VARCHAR","start_day":"DATE","end_day":"DATE","metrics":["VARCHAR"]}]'),
            max_depth := 2
        )
),

latest as (
    select
        t.control,
        t.starts_at,
        t.metric,
        arg_max_null(t.value, t.seen_at) as value
    from ripen.control_totals as t
    join requested as r
        on
            t.control = r.control
            and t.starts_at >= r.start_day
            and t.starts_at < r.end_day
            and list_contains(r.metrics, t.metric)
    group by t.control, t.starts_at, t.metric
)

select
    control,
    starts_at::date::varchar as start_day,
    metric,
    sum(value) as value
from latest
where value is not null
group by control, starts_at::date, metric
