-- The syncs for an instant that succeeded, if listed partners are stored.
-- $1 as-of instant
-- Returns one row per run: run_id.
select run_id
from ripen.runs
where command = 'sync' and status = 'succeeded' and as_of = $1::timestamp and exists (from main.partners where is_listed)
