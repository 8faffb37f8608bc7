-- What projections of a slice would have come to in the past.
-- $1 slice, $2 the scores (JSON list)
-- Returns nothing.
insert into ripen.projection_errors by name
select
    $1 as slice,
    e.*
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"metric":"VARCHAR","age_days":"INTEGER","cohorts":"INTEGER","median_abs_error":"DOUBLE","median_abs_error_as_is":"DOUBLE","coverage":"DOUBLE","reason":"VARCHAR"}]'
            ),
            recursive := true
        )
) as e
