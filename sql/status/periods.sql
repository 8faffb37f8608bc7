-- What the live table of one slice holds, period by period: freshness, coverage and finality are read from it.
-- $1 slice
-- Returns one row per period in order; instants as text in UTC, null where nothing more is expected.
select
    p.start_day,
    p.end_day,
    p.asked_start,
    p.asked_end,
    p.fetched_at,
    p.rows,
    p.rejected,
    p.state,
    p.verdict = 'unproven' as is_unproven,
    p.next_refresh_at
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
where p.slice = $1
order by p.start_day
