-- The periods of loads as they are stored from now on; the older entries were deleted before.
-- $1 slice, $2 fingerprint, $3 periods (JSON list)
-- Returns nothing.
insert into ripen.periods by name
select
    $1 as slice,
    $2 as fingerprint,
    p.*
from (
    select
        unnest(
            from_json(
                $3::json,
                '[{"age":"VARCHAR","load_id":"BIGINT","fetched_at":"TIMESTAMP","verdict":"VARCHAR","start_day":"DATE","end_day":"DATE","asked_start":"DATE","asked_end":"DATE","ends_at":"TIMESTAMP","whole":"BOOLEAN","rows":"BIGINT","rejected":"BIGINT","empty_runs":"INTEGER","state":"VARCHAR","sound_at":"TIMESTAMP","computed_at":"TIMESTAMP","immature":["VARCHAR"],"next_refresh_at":"TIMESTAMP"}]'
            ),
            max_depth := 2
        )
) as p
