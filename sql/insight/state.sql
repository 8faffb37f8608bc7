-- A text that differs once anything has changed that is measured: what the ledger says of periods, control totals and whose they are.
-- Returns one row: state.
select
    json_array(
        (select bit_xor(hash(p)) from ripen.periods as p),
        (select count(*) from ripen.control_readings),
        (select max(read_at) from ripen.control_readings),
        (select count(*) from ripen.control_totals),
        (
            select list([slice, fingerprint, state, control] order by slice, fingerprint)
            from ripen.slice_tables
        )
    )::varchar as state
