-- What is stored of the periods of some days.
-- $1 the tables (JSON list of slice, fingerprint, start_day, end_day); both days null for a report without a date dimension, which
-- has one period, whatever days its last answer covered
-- Returns one row per slice with stored periods: slice, and periods, a JSON list of rows of ripen.periods.
with requested as (
    select
        unnest(
            from_json($1::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","start_day":"DATE","end_day":"DATE"}]'),
            max_depth := 2
        )
),

known as (
    select p
    from ripen.periods as p
    join requested as r
        on
            p.slice = r.slice
            and p.fingerprint = r.fingerprint
            and (r.start_day is null or (p.start_day >= r.start_day and p.start_day < r.end_day))
)

select
    p.slice as slice,
    to_json(list(p))::varchar as periods
from known
group by p.slice
