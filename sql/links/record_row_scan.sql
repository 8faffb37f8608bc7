-- Records how far rows were searched for what they name.
-- $1 reader, $2 newest load that was searched
-- Returns nothing.
update ripen_internal.row_scans
set load_id = $2
where reader = $1
