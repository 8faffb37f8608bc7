-- The periods whose refresh is due.
-- $1 as-of instant
-- Returns one row per period and age: slice, fingerprint, start_day, age.
select
    slice,
    fingerprint,
    start_day,
    age
from ripen.periods
where next_refresh_at <= $1::timestamp
