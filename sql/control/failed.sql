-- The days of windows that runs since an instant could not load, although the disk had room. If a run could not read control totals
-- either, the service was away, and no smaller request would have helped.
-- $1 since which as-of instant (UTC)
-- Returns one row per slice and window: slice, first_day, last_day, failed_at (the latest as-of instant).
with failures as (
    select
        as_of,
        unnest(cast(summary -> '$.failures' as json [])) as failure
    from ripen.runs
    semi join ripen.control_readings using (run_id)
    where as_of > $1::timestamp
)

select
    failure ->> '$.slice' as slice,
    string_split(failure ->> '$.window', ':')[1] as first_day,
    string_split(failure ->> '$.window', ':')[2] as last_day,
    max(as_of)::varchar as failed_at
from failures
where (failure ->> '$.window') is not null and (failure ->> '$.code') <> 'STORAGE_FAILED'
group by all
