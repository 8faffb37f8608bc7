-- Forgets the parts, as so many days were light as a whole.
-- $1 slice, $2 fingerprint, $3 the days
-- Returns nothing.
update ripen.slice_tables
set
    parts = null,
    parts_needed_at = null,
    max_days = $3
where slice = $1 and fingerprint = $2
