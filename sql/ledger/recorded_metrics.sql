-- The metrics of slices as they were last recorded.
-- $1 slices (JSON list)
-- Returns one row per slice that has any: slice, metrics (a JSON list in their order).
select
    m.slice,
    to_json(list(m order by m.position))::varchar as metrics
from ripen.slice_metrics as m
where m.slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
group by m.slice
