-- What is stored of the periods of some days.
-- $1 slice, $2 fingerprint, $3 first day, $4 day after the last; both null for a report without a date dimension, which has
-- one period, whatever days its last answer covered; $5 the newest load whose final periods are not replaced, null for none
-- Returns one row per period, in a cube per period and age: start_day, end_day, rows, empty_runs, fetched_at, age, is_protected.
select
    start_day,
    end_day,
    rows,
    empty_runs,
    fetched_at,
    age,
    coalesce(state = 'final' and load_id <= $5::bigint, false) as is_protected
from ripen.periods
where
    slice = $1
    and fingerprint = $2
    and ($3::date is null or (start_day >= $3::date and start_day < $4::date))
