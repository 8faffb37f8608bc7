-- What is stored of the periods of some days.
-- $1 slice, $2 fingerprint, $3 first day, $4 day after the last; both null for a report without a date dimension, which has
-- one period, whatever days its last answer covered
-- Returns one row per period, in a cube per period and age: start_day, end_day, rows, empty_runs, fetched_at, age.
select
    start_day,
    end_day,
    rows,
    empty_runs,
    fetched_at,
    age
from ripen.periods
where
    slice = $1
    and fingerprint = $2
    and ($3::date is null or (start_day >= $3::date and start_day < $4::date))
