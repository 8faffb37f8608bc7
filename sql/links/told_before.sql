-- What the newest sync of an earlier night told.
-- $1 as-of instant
-- Returns its summary as text, in no row when there was no such sync.
select summary::varchar as summary
from ripen.runs
where command = 'sync' and as_of <= $1::timestamp - interval 6 hour
order by as_of desc, run_number desc
limit 1
