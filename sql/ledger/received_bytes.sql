-- How many bytes the newest run with a summary received.
-- Returns at most one row: bytes.
select coalesce(cast(summary ->> '$.service.bytes' as double), 0) as bytes
from ripen.runs
where summary is not null
order by started_at desc
limit 1
