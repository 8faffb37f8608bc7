-- Forgets the horizons that are about to be remembered anew.
-- $1 the metrics (JSON list of metric, horizon_seconds)
-- Returns nothing.
delete from ripen.metric_horizons
where metric in (
    select r.metric
    from (select unnest(from_json($1::json, '[{"metric":"VARCHAR"}]'), recursive := true)) as r
)
