-- Saves what an answer has shown of metrics whose additivity was only assumed.
-- $1 slice, $2 when it was shown, $3 the metrics (JSON list of metric, adds_up)
-- Returns nothing.
insert into ripen_internal.additivity
select
    $1 as slice,
    r.metric,
    r.adds_up,
    $2::timestamp as seen_at
from (
    select unnest(from_json($3::json, '[{"metric":"VARCHAR","adds_up":"BOOLEAN"}]'), recursive := true)
) as r
