-- Records the projections of the maturing totals of a slice.
-- $1 the projections (JSON list)
-- Returns nothing.
insert into ripen_internal.projections by name
select p.*
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"slice":"VARCHAR","metric":"VARCHAR","period":"DATE","load_id":"BIGINT","age_days":"INTEGER","factor":"DOUBLE","factor_low":"DOUBLE","factor_high":"DOUBLE","periods":"INTEGER"}]'
            ),
            recursive := true
        )
) as p
