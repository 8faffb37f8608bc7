-- What repeated fetches say of the horizons of a slice.
-- $1 slice, $2 the evidence (JSON list)
-- Returns nothing.
insert into ripen.horizon_evidence by name
select
    $1 as slice,
    h.*
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"metric":"VARCHAR","horizon_days":"DOUBLE","looks":"INTEGER","changed":"INTEGER","changed_after_final":"INTEGER","proposed_days":"INTEGER"}]'
            ),
            recursive := true
        )
) as h
