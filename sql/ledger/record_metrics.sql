-- The metrics of a slice as now configured, in the place of what was deleted before.
-- $1 slice, $2 the metrics (JSON list), $3 settle seconds
-- Returns nothing.
insert into ripen.slice_metrics by name
select
    $1 as slice,
    m.*,
    $3::bigint as settle_seconds
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"metric":"VARCHAR","position":"INTEGER","type":"VARCHAR","kind":"VARCHAR","horizon_from":"VARCHAR","additive":"BOOLEAN","additivity":"VARCHAR","horizon_seconds":"BIGINT","age":"VARCHAR","cohort_metric":"VARCHAR","age_days":"INTEGER"}]'
            ),
            recursive := true
        )
) as m
