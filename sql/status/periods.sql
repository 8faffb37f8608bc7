-- What the live table of one slice holds, period by period: freshness, coverage and finality are read from it.
-- $1 slice, $2 its fingerprint as configured, $3 its metrics as configured (JSON list)
-- Returns one row per period in order; instants as text in UTC, null where nothing more is expected. is_as_configured
-- is false where the configured slice means something else, or has a metric more: then the next sync asks again.
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
    p.next_refresh_at,
    (p.fingerprint = $2 or starts_with(p.fingerprint, $2 || '.')) and list_has_all(l.metrics, cast($3 as json)::varchar []) as is_as_configured
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
left join ripen.loads as l on l.load_id = p.load_id
where p.slice = $1
order by p.start_day
