-- An audit: which slices that load days end earlier than the others?
-- Of slices that were fetched within a week before the last run.
-- Returns one row per slice, the latest first.
with ends as (
    select
        p.slice,
        max(p.requested_end) - 1 as last_day
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.rows > 0
    group by p.slice
    having max(p.fetched_at) > (select max(as_of) from ripen.runs) - interval 7 days
)

select
    slice,
    last_day
from ends
where last_day < (select max(last_day) - 1 from ends)
order by last_day, slice
