-- How fresh is what: up to which day does each slice reach, when was it last asked for, and what is due next?
-- Returns one row per slice; instants are in UTC, last_day is included.
select
    p.slice,
    min(p.start_day) as first_day,
    max(p.end_day) - 1 as last_day,
    max(p.fetched_at) as last_fetched_at,
    sum(p.rows)::bigint as rows,
    count(*) filter (where p.state = 'open') as open_periods,
    count(*) filter (where p.state = 'maturing') as maturing_periods,
    count(*) filter (where p.state = 'final') as final_periods,
    min(p.next_refresh_at) as next_refresh_at
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
group by p.slice
order by p.slice
