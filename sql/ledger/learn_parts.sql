-- Learns the parts in which a single period was light enough, and since when, where they are others than before.
-- $1 slice, $2 fingerprint, $3 the parts (JSON list), $4 the instant
-- Returns nothing.
update ripen.slice_tables
set
    parts = $3::json,
    parts_needed_at = case when parts::varchar = $3 then parts_needed_at else $4::timestamp end
where slice = $1 and fingerprint = $2
