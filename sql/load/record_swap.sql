-- Records that the table that was being built is the live one now.
-- $1 slice, $2 fingerprint, $3 table (quoted, with its schema)
-- Returns nothing.
update ripen.slice_tables
set
    state = 'live',
    table_name = $3,
    live_at = now() at time zone 'UTC'
where slice = $1 and fingerprint = $2
