-- Metrics most of whose final totals moved in each of the last nights in which they were read: the service changes its history every
-- night, as by converting money at the rate of the day. Control totals may be read in several windows and runs a night. Those of
-- periods that are too old to be read cannot move.
-- $1 how many nights
-- Returns one row per slice and metric: slice, metric.
with nights as (
    select
        control,
        metric,
        night,
        min(start_day) as first_day
    from (
        select
            control,
            unnest(metrics) as metric,
            read_at::date as night,
            start_day
        from ripen.control_readings
    )
    group by control, metric, night
    qualify row_number() over (partition by control, metric order by night desc) <= $1
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

moves as (
    select distinct
        v.control,
        v.metric,
        v.starts_at::date as period,
        v.seen_at::date as night
    from ripen.control_totals as v
    semi join nights as n on n.control = v.control and n.metric = v.metric and n.night = v.seen_at::date
    semi join ripen.control_totals as b
        on b.control = v.control and b.metric = v.metric and b.starts_at = v.starts_at and b.seen_at < v.seen_at
),

counted as (
    select
        c.slice,
        c.metric,
        n.night,
        count(*) as cells,
        count(m.control) as moved
    from cells as c
    join nights as n on n.control = c.control and n.metric = c.metric and n.first_day <= c.period
    left join moves as m on m.control = c.control and m.metric = c.metric and m.period = c.period and m.night = n.night
    group by c.slice, c.metric, n.night
)

select
    slice,
    metric
from counted
group by slice, metric
having count(*) = $1 and bool_and(2 * moved > cells)
order by slice, metric
