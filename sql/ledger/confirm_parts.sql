-- Records that a request without the parts was still too heavy.
-- $1 slice, $2 fingerprint, $3 the instant
-- Returns nothing.
update ripen.slice_tables
set parts_needed_at = $3::timestamp
where slice = $1 and fingerprint = $2
