-- Learns that a request for more days than this was too heavy; fewer that were learned before stay.
-- $1 slice, $2 fingerprint, $3 the days
-- Returns nothing.
update ripen.slice_tables
set max_days = least(coalesce(max_days, $3), $3)
where slice = $1 and fingerprint = $2
