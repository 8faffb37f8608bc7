-- What the live table of one slice holds, period by period: freshness, coverage and finality are read from it.
-- $1 slice, $2 its fingerprint as configured, $3 its metrics as configured (JSON list), $4 now
-- Returns one row per period in order; instants as text in UTC, null where nothing more is expected. is_as_configured
-- is false where the configured slice means something else, or has a metric more: then the next sync asks again. is_ahead is
-- true of a fetch that has not come: its period is open, counts as fetched when it began, and is due now; without rows, one of days
-- that have not begun is not held.
select
    p.start_day,
    p.end_day,
    p.asked_start,
    p.asked_end,
    case when a.is_ahead then p.ends_at - to_days((p.end_day - p.start_day)::integer) else p.fetched_at end as fetched_at,
    p.rows,
    p.rejected,
    case when a.is_ahead then 'open' else p.state end as state,
    p.verdict = 'unproven' as is_unproven,
    case when a.is_ahead then $4::timestamp else p.next_refresh_at end as next_refresh_at,
    a.is_ahead,
    (p.fingerprint = $2 or starts_with(p.fingerprint, $2 || '.')) and list_has_all(l.metrics, cast($3 as json)::varchar []) as is_as_configured
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
left join ripen.loads as l on l.load_id = p.load_id
cross join lateral (
    select
        p.fetched_at > $4::timestamp as is_ahead,
        p.asked_start > ($4::timestamp + (p.end_day::timestamp - p.ends_at))::date as is_unbegun
) as a
where p.slice = $1 and not (a.is_ahead and a.is_unbegun and p.rows = 0)
order by p.start_day
