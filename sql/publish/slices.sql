-- The slices a ledger knows, no longer configured ones too.
-- Returns one row per slice.
select distinct slice
from ripen.slice_tables
order by slice
