-- The live table of one slice, and the progress of the one being built beside it.
-- $1 slice
-- Returns at most one row: whether a live table exists, and the number of periods under construction (null when nothing is).
select
    bool_or(t.state = 'live') as is_live,
    case
        when bool_or(t.state = 'building') then (
            select count(distinct p.start_day)
            from ripen.periods as p
            join ripen.slice_tables as b on b.slice = p.slice and b.fingerprint = p.fingerprint and b.state = 'building'
            where p.slice = $1
        )
    end as building_periods
from ripen.slice_tables as t
where t.slice = $1
having count(*) > 0
