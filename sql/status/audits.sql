-- The final cells of one slice that were asked for again, all together.
-- $1 slice
-- Returns one row: windows, the periods they touched (each window by itself), cells compared and cells changed.
select
    count(*) as windows,
    coalesce(sum(periods), 0) as periods,
    coalesce(sum(cells), 0) as cells,
    coalesce(sum(changed), 0) as changed
from ripen.audits
where slice = $1
