-- How far the totals of each slice were last compared with those of the service.
-- $1 as-of instant (UTC)
-- Returns one row per slice: slice, read_at (of the latest control totals), totals (values of loaded periods that were compared).
with latest as (
    select
        control,
        metrics,
        start_day,
        end_day,
        max(read_at) over (partition by control) as read_at,
        min(read_at) over (partition by control) as first_read_at
    from ripen.control_readings
    qualify run_id = arg_max(run_id, read_at) over (partition by control)
)

select
    t.slice,
    strftime(any_value(n.read_at), '%Y-%m-%dT%H:%M:%SZ') as read_at,
    count(distinct (p.start_day, m.metric)) filter (
        n.start_day <= p.start_day
        and p.fetched_at >= n.first_read_at
        and n.end_day >= p.end_day
        and list_contains(n.metrics, m.metric)
        and p.whole
        and p.ends_at + to_seconds(m.comparable_seconds) <= $1::timestamp
    ) as totals
from ripen.slice_tables as t
join latest as n on n.control = t.control
left join ripen.slice_metrics as m on m.slice = t.slice
left join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint and p.age = m.age
where t.state = 'live'
group by t.slice
