-- An audit: which slices that load days end earlier than the others?
-- Returns one row per slice, the latest first.
with ends as (
    select
        p.slice,
        max(p.requested_end) - 1 as last_day
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.rows > 0
    group by p.slice
)

select
    slice,
    last_day
from ends
where last_day < (select max(last_day) - 1 from ends)
order by last_day, slice
