-- Records up to which load rows were searched for the names in them.
-- $1 reader, $2 newest load that was searched
-- Returns nothing.
update ripen_internal.row_scans
set load_id = $2
where reader = $1
