-- Deletes the periods of the days a load replaces or `retain` no longer keeps, or all of a dropped table.
-- $1 slice, $2 fingerprint, $3 first day, $4 day after the last; both null for all of them; $5 the ages of a cube (JSON list), null
-- for all
-- Returns nothing.
delete from ripen.periods
where
    slice = $1
    and fingerprint = $2
    and ($3::date is null or (start_day >= $3::date and start_day < $4::date))
    and ($5::json is null or age in (select unnest(from_json($5::json, '["VARCHAR"]'))))
