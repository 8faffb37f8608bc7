-- Records what projections of a slice would have said in the past.
-- $1 the scores (JSON list)
-- Returns nothing.
insert into ripen.projection_errors by name
select e.*
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"slice":"VARCHAR","metric":"VARCHAR","age_days":"INTEGER","cohorts":"INTEGER","median_abs_error":"DOUBLE","median_abs_error_as_is":"DOUBLE","coverage":"DOUBLE","is_projected":"BOOLEAN"}]'
            ),
            recursive := true
        )
) as e
