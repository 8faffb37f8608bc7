-- Forgets released periods: those of the days a load brings back, or all of a dropped table.
-- $1 slice, $2 fingerprint, $3 first day, $4 day after the last; both null for all of them
-- Returns nothing.
delete from ripen.released
where slice = $1 and fingerprint = $2 and ($3::date is null or (period >= $3::date and period < $4::date))
