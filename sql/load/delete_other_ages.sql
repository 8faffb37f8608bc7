-- Deletes the periods of ages that a cube no longer has.
-- $1 slice, $2 fingerprint, $3 the ages it has (JSON list)
-- Returns nothing.
delete from ripen.periods
where
    slice = $1
    and fingerprint = $2
    and age not in (select unnest(from_json($3::json, '["VARCHAR"]')))
