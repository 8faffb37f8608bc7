-- Deletes the schema changes of one slice.
-- $1 slice
-- Returns nothing.
delete from ripen.schema_changes
where object = $1
