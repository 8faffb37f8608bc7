-- Whether a slice's metrics ripen otherwise than they did when they were last recorded.
-- $1 slice, $2 the metrics (JSON list), $3 settle seconds
-- Returns one row: is_changed.
with now as (
    select
        unnest(from_json($2::json, '[{"metric":"VARCHAR","horizon_seconds":"BIGINT"}]'), recursive := true)
),
before as (
    select
        metric,
        horizon_seconds,
        settle_seconds
    from ripen.slice_metrics
    where slice = $1
)
select
    count(*) > 0 as is_changed
from (
    (select metric, horizon_seconds, $3::bigint as settle_seconds from now except from before)
    union all
    (from before except select metric, horizon_seconds, $3::bigint as settle_seconds from now)
) as differences
