-- How much of the final totals of a slice was known at each age.
-- $1 slice, $2 the shares (JSON list)
-- Returns nothing.
insert into ripen.maturation by name
select
    $1 as slice,
    s.*
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"metric":"VARCHAR","age_days":"INTEGER","periods":"INTEGER","share_q25":"DOUBLE","share_median":"DOUBLE","share_q75":"DOUBLE"}]'
            ),
            recursive := true
        )
) as s
