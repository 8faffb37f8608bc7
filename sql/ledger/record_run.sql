-- Records that a run began, as running and under the next number.
-- $1 run_id, $2 command, $3 as-of instant, $4 when it began, $5 version of ripen, $6 host, $7 id of the process
-- Returns nothing.
insert into ripen.runs by name
select
    $1 as run_id,
    $2 as command,
    $3::timestamp as as_of,
    $4::timestamp as started_at,
    'running' as status,
    $5 as version,
    $6 as host,
    $7 as pid,
    coalesce(max(run_number), 0) + 1 as run_number
from ripen.runs
