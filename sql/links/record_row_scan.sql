-- Records how far rows were searched for the partners they name.
-- $1 newest load that was searched
-- Returns nothing.
update ripen_internal.row_scans
set load_id = $1
