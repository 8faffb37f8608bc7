-- The last runs.
-- $1 how many
-- Returns one row per run, newest first; a run without finished_at goes on or was killed; its
-- summary is of what it did before it published, null before that.
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
order by run_number desc nulls last
limit $1
