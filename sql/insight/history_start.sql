-- Where the history begins that a slice's ripening is read from.
-- $1 slice, $2 fingerprint, $3 days of history
-- Returns one row: start_day, the first day of its oldest period; NULL without whole periods.
select min(p.start_day) as start_day
from ripen.periods as p
where
    p.slice = $1
    and p.fingerprint = $2
    and p.whole
    and p.end_day > (
        select max(newest.end_day) - $3::integer
        from ripen.periods as newest
        where newest.slice = $1 and newest.fingerprint = $2
    )
