-- The ledger row of control totals, which remembers how many days one request may cover.
-- $1 name, $2 fingerprint
-- Returns nothing.
insert into ripen.slice_tables by name
select
    $1 as slice,
    $2 as fingerprint,
    'ripen.control_totals' as table_name,
    'control' as state,
    now() at time zone 'UTC' as created_at
where not exists (from ripen.slice_tables where slice = $1)
