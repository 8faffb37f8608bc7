-- What answers have shown of metrics whose additivity is only assumed: a metric that once did not add up is not
-- additive, even if it had added up before.
-- $1 slices (JSON list)
-- Returns one row per slice and metric: slice, metric, adds_up.
select
    slice,
    metric,
    bool_and(adds_up) as adds_up
from ripen_internal.additivity
where slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
group by slice, metric
