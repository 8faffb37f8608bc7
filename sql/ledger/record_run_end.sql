-- Records what a run has done, and how it ended.
-- $1 run_id, $2 when, $3 status, $4 exit code (null: stopped by a signal), $5 the summary (JSON); before its end $2 and $4 are null
-- Returns nothing.
update ripen.runs
set
    finished_at = $2::timestamp,
    status = $3,
    exit_code = $4,
    summary = $5::json
where run_id = $1
