-- The ledger row of a table that was made for a slice.
-- $1 slice, $2 fingerprint, $3 table (quoted, with its schema), $4 state
-- Returns nothing.
insert into ripen.slice_tables by name
select
    $1 as slice,
    $2 as fingerprint,
    $3 as table_name,
    $4 as state,
    now() at time zone 'UTC' as created_at,
    case when $4 = 'live' then now() at time zone 'UTC' end as live_at
