-- Records the states of periods after the horizons of their metrics or the schedule changed.
-- $1 the periods (JSON list)
-- Returns nothing.
update ripen.periods as p
set
    state = s.state,
    next_refresh_at = s.next_refresh_at
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"slice":"VARCHAR","fingerprint":"VARCHAR","age":"VARCHAR","start_day":"DATE","state":"VARCHAR","next_refresh_at":"TIMESTAMP"}]'
            ),
            recursive := true
        )
) as s
where p.slice = s.slice and p.fingerprint = s.fingerprint and p.start_day = s.start_day and p.age = s.age
