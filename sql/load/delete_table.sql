-- Deletes a dropped table.
-- $1 slice, $2 fingerprint
-- Returns nothing.
delete from ripen.slice_tables
where slice = $1 and fingerprint = $2
