-- What is stored of the periods of some days.
-- $1 slice, $2 fingerprint, $3 first day, $4 day after the last; both null for a report without a date dimension, which has
-- one period, whatever days its last answer covered
-- Returns one row: periods, a JSON list of rows of ripen.periods.
select coalesce(to_json(list(p)), '[]')::varchar as periods
from ripen.periods as p
where
    slice = $1
    and fingerprint = $2
    and ($3::date is null or (start_day >= $3::date and start_day < $4::date))
