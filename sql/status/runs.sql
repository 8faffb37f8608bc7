-- The last runs.
-- $1 how many
-- Returns one row per run, newest first; a run without finished_at goes on or was killed, and has no summary either.
select
    run_id,
    command,
    as_of,
    started_at,
    finished_at,
    status,
    exit_code,
    summary
from ripen.runs
order by started_at desc, run_id
limit $1
