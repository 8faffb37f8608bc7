-- Forgets what a cube holds of ages that it has no longer.
-- $1 slice, $2 fingerprint, $3 the ages it has (JSON list)
-- Returns nothing.
delete from ripen.periods
where
    slice = $1
    and fingerprint = $2
    and age not in (select unnest(from_json($3::json, '["VARCHAR"]')))
