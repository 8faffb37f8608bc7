-- What measurements are made from: they stay as they are until one of these figures changes.
-- Returns one row: figures (JSON).
select
    to_json({
        load: (select max(load_id) from ripen.loads),
        periods: (select count(*) from ripen.periods),
        readings: (select count(*) from ripen.control_readings),
        read_at: (select max(read_at) from ripen.control_readings),
        totals: (select count(*) from ripen.control_totals)
    })::varchar as figures
