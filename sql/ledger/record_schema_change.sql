-- Records that a table or a column was made, altered or removed.
-- $1 run_id, $2 slice, $3 column (null for the table), $4 what became of it, $5 what it was before, $6 what it is now
-- Returns nothing.
insert into ripen.schema_changes by name
select
    $1 as run_id,
    $2 as object,
    $3 as name,
    $4 as change,
    $5 as before,
    $6 as after,
    now() at time zone 'UTC' as seen_at
