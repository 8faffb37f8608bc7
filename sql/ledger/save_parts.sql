-- Saves the parts in which a single period was light enough.
-- $1 slice, $2 fingerprint, $3 the parts (JSON list), $4 the instant, $5 the instant before which nothing is remembered
-- Returns nothing.
update ripen.slice_tables
set
    parts = $3::json,
    max_days = case when sized_at > $5::timestamp then max_days end,
    sized_at = case when sized_at > $5::timestamp then sized_at else $4::timestamp end
where slice = $1 and fingerprint = $2
