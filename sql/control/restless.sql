-- Metrics most of whose final totals moved in each of the last nights in which control totals were read: the service changes its
-- history every night, as by converting money at the rate of the day.
-- $1 how many nights
-- Returns one row per slice and metric: slice, metric.
with nights as (
    select
        control,
        read_at,
        row_number() over (partition by control order by read_at desc) as night
    from (select distinct control, read_at from ripen.control_readings)
    qualify night <= $1
),

cells as (
    select
        f.slice,
        t.control,
        f.period,
        f.metric
    from ripen.finality as f
    join ripen.slice_tables as t on t.slice = f.slice and t.state = 'live'
    where f.is_final and t.control is not null
),

counted as (
    select
        c.slice,
        c.metric,
        n.read_at,
        count(distinct c.period) as cells,
        count(distinct c.period) filter (
            v.control is not null
            and exists (
                from ripen.control_totals as b
                where b.control = v.control and b.metric = v.metric and b.starts_at = v.starts_at and b.seen_at < v.seen_at
            )
        ) as moved
    from cells as c
    join nights as n on n.control = c.control
    left join ripen.control_totals as v
        on v.control = c.control and v.metric = c.metric and v.starts_at::date = c.period and v.seen_at = n.read_at
    group by c.slice, c.metric, n.read_at
)

select
    slice,
    metric
from counted
group by slice, metric
having count(*) = $1 and bool_and(2 * moved > cells)
order by slice, metric
