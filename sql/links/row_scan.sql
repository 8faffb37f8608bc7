-- Up to which load rows were searched for the names in them, and the newest load there is.
-- $1 reader
-- Returns one row: searched (newest load that was searched, 0 before the first search), newest (newest load).
select
    load_id as searched,
    coalesce((select max(load_id) from ripen.loads), 0) as newest
from ripen_internal.row_scans
where reader = $1
