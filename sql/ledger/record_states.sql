-- Records the states of periods after the horizons of their metrics changed.
-- $1 slice, $2 fingerprint, $3 the periods (JSON list)
-- Returns nothing.
update ripen.periods as p
set
    state = s.state,
    next_refresh_at = s.next_refresh_at
from (
    select
        unnest(
            from_json($3::json, '[{"age":"VARCHAR","start_day":"DATE","state":"VARCHAR","next_refresh_at":"TIMESTAMP"}]'),
            recursive := true
        )
) as s
where p.slice = $1 and p.fingerprint = $2 and p.start_day = s.start_day and p.age = s.age
