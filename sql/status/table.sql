-- The live table of each slice, and the progress of the one being built beside it.
-- Returns one row per slice that has a table: slice, whether a live one exists, and the number of periods under construction
-- (null when nothing is).
select
    t.slice,
    bool_or(t.state = 'live') as is_live,
    case
        when bool_or(t.state = 'building') then count(distinct p.start_day) filter (t.state = 'building')
    end as building_periods
from ripen.slice_tables as t
left join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
group by t.slice
