-- Deletes the restatements under one meaning of a slice, as totals of another meaning cannot be compared with them.
-- $1 slice, $2 fingerprint
-- Returns nothing.
delete from ripen.restatements
where
    slice = $1
    and load_id in (select load_id from ripen.loads where slice = $1 and fingerprint = $2)
