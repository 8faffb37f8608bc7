-- The slices of a ledger, including those no longer configured, and whether each is a cube.
-- Returns one row per slice: slice, is_cube.
select
    t.slice,
    coalesce(bool_or(m.age <> ''), false) as is_cube
from ripen.slice_tables as t
left join ripen.slice_metrics as m on m.slice = t.slice
group by t.slice
order by t.slice
