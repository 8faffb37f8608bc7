-- Records the periods whose final cells a run has drawn to compare, before it requests them.
-- $1 run_id, $2 the instant it plans for (UTC), $3 the draws (JSON list)
-- Returns nothing.
insert into ripen_internal.audit_draws by name
select
    $1 as run_id,
    $2::timestamp as drawn_at,
    d.*
from (
    select
        unnest(
            from_json($3::json, '[{"slice":"VARCHAR","period":"DATE","seed":"VARCHAR"}]'),
            recursive := true
        )
) as d
