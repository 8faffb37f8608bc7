-- The periods of one slice under one meaning, with the metrics their newest load brought.
-- $1 slice, $2 fingerprint
-- Returns one row per period.
select
    p.start_day,
    p.end_day,
    p.asked_start,
    p.asked_end,
    p.fetched_at,
    p.rows,
    p.rejected,
    p.empty_runs,
    p.verdict,
    to_json(l.metrics)::varchar as metrics
from ripen.periods as p
join ripen.loads as l on l.load_id = p.load_id
where p.slice = $1 and p.fingerprint = $2
order by p.start_day
