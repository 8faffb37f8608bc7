-- Whether the newest sync of an earlier night told the same.
-- $1 as-of instant, $2 what it told
-- Returns is_told, in no row when there was no such sync.
select coalesce(contains(summary::varchar, $2), false) as is_told
from ripen.runs
where command = 'sync' and as_of <= $1::timestamp - interval 6 hour
order by as_of desc, started_at desc
limit 1
