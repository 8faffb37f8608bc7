-- The slices that have a live table, with its size; slices that are no longer configured are kept, too.
-- Returns slice, periods, rows; in order of slice.
select
    t.slice,
    count(distinct p.start_day) as periods,
    coalesce(sum(p.rows), 0)::bigint as rows
from ripen.slice_tables as t
left join ripen.periods as p on p.slice = t.slice and p.fingerprint = t.fingerprint
where t.state = 'live'
group by t.slice
order by t.slice
