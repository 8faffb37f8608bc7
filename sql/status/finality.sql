-- The finality of each slice, metric by metric, in stretches of neighbouring periods in the same state.
-- Returns one row per stretch, ordered by slice, metric and day: slice, the metric's kind, its horizon in days (null: never final) and where that is from, the state,
-- the start days of the first and last period, and how many periods there are. The state of the whole period
-- (open, cut, empty, rejected rows) takes precedence over that of the metric.
with cells as (
    select
        p.slice,
        m.position,
        m.metric,
        m.kind,
        m.horizon_seconds / 86400.0 as horizon_days,
        m.horizon_from,
        p.start_day,
        case
            when p.rejected > 0 then 'rejected'
            when not list_contains(l.metrics, m.metric) then 'not loaded'
            when p.state in ('open', 'cut', 'empty') then p.state
            when f.is_final then 'final'
            else 'maturing'
        end as state
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    join ripen.loads as l on l.load_id = p.load_id
    join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age
    left join ripen.finality as f on f.slice = p.slice and f.period = p.start_day and f.metric = m.metric
),

-- Two running numbers, one over all periods and one over those of a state, keep their distance within a stretch.
stretches as (
    select
        slice,
        position,
        metric,
        kind,
        horizon_days,
        horizon_from,
        start_day,
        state,
        row_number() over (partition by slice, metric order by start_day)
        - row_number() over (partition by slice, metric, state order by start_day) as stretch
    from cells
)

select
    slice,
    metric,
    kind,
    horizon_days,
    horizon_from,
    state,
    min(start_day) as first_day,
    max(start_day) as last_day,
    count(*) as periods
from stretches
group by slice, position, metric, kind, horizon_days, horizon_from, state, stretch
order by slice, position, metric, first_day
