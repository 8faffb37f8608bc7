-- Records what repeated fetches of a slice show of its metrics.
-- $1 the evidence (JSON list)
-- Returns nothing.
insert into ripen_internal.horizon_evidence by name
select h.*
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"slice":"VARCHAR","metric":"VARCHAR","last_change_age":"INTEGER","later_looks":"INTEGER"}]'
            ),
            recursive := true
        )
) as h
