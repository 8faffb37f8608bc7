-- The slices of a ledger, including those no longer configured, and whether each is a cube; control totals are none.
-- Returns one row per slice: slice, is_cube.
select
    t.slice,
    coalesce(bool_or(m.age <> ''), false) as is_cube
from ripen.slice_tables as t
left join ripen.slice_metrics as m on m.slice = t.slice
where t.state <> 'control'
group by t.slice
order by t.slice
