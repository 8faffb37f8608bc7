-- Applies to a slice's metrics what an answer has shown of them.
-- $1 slice, $2 the metrics (JSON list of metric, adds_up)
-- Returns nothing.
update ripen.slice_metrics as m
set
    additive = r.adds_up,
    additivity = 'seen'
from (
    select unnest(from_json($2::json, '[{"metric":"VARCHAR","adds_up":"BOOLEAN"}]'), recursive := true)
) as r
where m.slice = $1 and m.metric = r.metric
