-- How fresh is each slice: up to which day does it reach, when was it last requested, and what is due next?
-- A period of a cube counts once, in the state of its least settled age.
-- Returns one row per slice; instants are in UTC, first_day and last_day are the first and the last that were requested.
with periods as (
    select
        p.slice,
        min(p.requested_start) as requested_start,
        max(p.requested_end) as requested_end,
        max(p.fetched_at) as fetched_at,
        sum(p.rows) as rows,
        arg_min(p.state, list_position(['open', 'cut', 'empty', 'maturing', 'final'], p.state)) as state,
        min(p.next_refresh_at) as next_refresh_at
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    group by p.slice, p.start_day
)

select
    slice,
    min(requested_start) as first_day,
    max(requested_end) - 1 as last_day,
    max(fetched_at) as last_fetched_at,
    sum(rows)::bigint as rows,
    count(*) filter (where state = 'open') as open_periods,
    count(*) filter (where state = 'maturing') as maturing_periods,
    count(*) filter (where state = 'final') as final_periods,
    count(*) filter (where state = 'cut') as cut_periods,
    count(*) filter (where state = 'empty') as empty_periods,
    min(next_refresh_at) as next_refresh_at
from periods
group by slice
order by slice
