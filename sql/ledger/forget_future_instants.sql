-- Loads that were recorded as fetched in the future: nobody knows when they were.
-- $1 the latest instant that counts as now
-- Returns nothing.
update ripen.loads
set known_at = null
where known_at > $1::timestamp
