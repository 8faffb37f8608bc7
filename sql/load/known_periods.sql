-- What is stored of the periods of some days. Released periods count as from a fetch in the past, so that an answer without
-- them does not delete the last copy.
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
union all
select distinct
    r.period as start_day,
    r.end_day,
    r.rows,
    0 as empty_runs,
    'epoch'::timestamp as fetched_at,
    coalesce(m.age, '') as age
from ripen.released as r
left join ripen.slice_metrics as m on m.slice = r.slice and m.metric = r.metric
left join ripen.periods as p
    on p.slice = r.slice and p.fingerprint = r.fingerprint and p.start_day = r.period and p.age = coalesce(m.age, '')
where
    r.slice = $1
    and r.fingerprint = $2
    and p.age is null
    and ($3::date is null or (r.period >= $3::date and r.period < $4::date))
