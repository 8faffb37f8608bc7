-- The metrics of a slice as they were last recorded.
-- $1 slice
-- Returns one row: metrics, a JSON list in their order, NULL for none.
select to_json(list(m order by m.position))::varchar as metrics
from ripen.slice_metrics as m
where m.slice = $1
