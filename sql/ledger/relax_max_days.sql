-- Allows twice the days of a request, where at most as many are allowed as were light.
-- $1 slice, $2 fingerprint, $3 the days that were light
-- Returns nothing.
update ripen.slice_tables
set max_days = max_days * 2
where slice = $1 and fingerprint = $2 and max_days <= $3
