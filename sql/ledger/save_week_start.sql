-- Saves the weekday the service begins its weeks with.
-- $1 slice, $2 fingerprint, $3 the weekday (0 Sunday, 1 Monday)
-- Returns nothing.
update ripen.slice_tables
set week_starts_on = $3
where slice = $1 and fingerprint = $2
