-- Remembers the horizons the catalog gives metrics, after `forget_horizons`.
-- $1 the metrics (JSON list of metric, horizon_seconds)
-- Returns nothing.
insert into ripen.metric_horizons
select
    r.metric,
    r.horizon_seconds,
    now() at time zone 'UTC' as seen_at
from (
    select unnest(from_json($1::json, '[{"metric":"VARCHAR","horizon_seconds":"BIGINT"}]'), recursive := true)
) as r
