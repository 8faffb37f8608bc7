-- Records what a run has done so far.
-- $1 run_id, $2 the summary (JSON)
-- Returns nothing.
update ripen.runs
set summary = $2::json
where run_id = $1
