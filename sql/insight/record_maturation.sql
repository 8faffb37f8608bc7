-- Records how much of the final totals of a slice was known at each age.
-- $1 the shares (JSON list)
-- Returns nothing.
insert into ripen_internal.maturation by name
select s.*
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"slice":"VARCHAR","metric":"VARCHAR","age_days":"INTEGER","periods":"INTEGER","share_q25":"DOUBLE","share_median":"DOUBLE","share_q75":"DOUBLE"}]'
            ),
            recursive := true
        )
) as s
