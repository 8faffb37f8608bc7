-- How fresh is each slice: up to which day does it reach, when was it last requested, and what is due next?
-- Returns one row per slice; instants are in UTC, first_day and last_day are the first and the last that were requested.
select
    p.slice,
    min(p.asked_start) as first_day,
    max(p.asked_end) - 1 as last_day,
    max(p.fetched_at) as last_fetched_at,
    sum(p.rows)::bigint as rows,
    count(*) filter (where p.state = 'open') as open_periods,
    count(*) filter (where p.state = 'maturing') as maturing_periods,
    count(*) filter (where p.state = 'final') as final_periods,
    count(*) filter (where p.state = 'cut') as cut_periods,
    count(*) filter (where p.state = 'empty') as empty_periods,
    min(p.next_refresh_at) as next_refresh_at
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
group by p.slice
order by p.slice
