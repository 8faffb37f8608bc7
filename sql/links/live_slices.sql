-- The live tables of slices.
-- Returns slice, table_name (quoted, with its schema).
select
    slice,
    table_name
from ripen.slice_tables
where state = 'live'
order by slice
