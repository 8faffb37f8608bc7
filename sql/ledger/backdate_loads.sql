-- Loads of a slice that were recorded as fetched in the future: when that really was is unknown.
-- $1 slice, $2 the latest instant that counts as now
-- Returns nothing.
update ripen.loads
set known_at = null
where slice = $1 and known_at > $2::timestamp
