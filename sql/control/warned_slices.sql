-- The slices that runs since an instant warned of with one code.
-- $1 code, $2 since which as-of instant (UTC)
-- Returns one row per slice: slice.
select distinct w.slice
from ripen.warnings as w
join ripen.runs as r on r.run_id = w.run_id
where w.code = $1 and r.as_of > $2::timestamp and w.slice is not null
