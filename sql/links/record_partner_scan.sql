-- Records how far rows were searched for partners.
-- $1 newest load that was searched
-- Returns nothing.
update ripen_internal.partner_scans
set load_id = $1
