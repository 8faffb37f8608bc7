-- What answers have shown of metrics whose additivity is only assumed.
-- $1 slices (JSON list)
-- Returns one row per slice and metric: slice, metric, adds_up.
select
    slice,
    metric,
    adds_up
from ripen_internal.additivity
where slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
