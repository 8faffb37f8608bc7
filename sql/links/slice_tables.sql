-- The tables of slices, and how far their days are ahead of UTC.
-- Returns slice, table_name (quoted, with its schema), is_live, ahead_seconds (negative behind; 0 before the first load).
select
    t.slice,
    t.table_name,
    t.state = 'live' as is_live,
    coalesce(
        (
            select any_value(epoch(p.end_day::timestamp) - epoch(p.ends_at))
            from ripen.periods as p
            where p.slice = t.slice and p.fingerprint = t.fingerprint
        ),
        0
    )::integer as ahead_seconds
from ripen.slice_tables as t
order by t.slice, t.table_name
