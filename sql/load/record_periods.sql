-- The periods of one load as they are held from now on; the older entries were deleted before.
-- $1 slice, $2 fingerprint, $3 load_id, $4 fetched_at, $5 verdict, $6 periods (JSON list)
insert into ripen.periods by name
select
    $1 as slice,
    $2 as fingerprint,
    $3::bigint as load_id,
    $4::timestamp as fetched_at,
    $5 as verdict,
    p.*
from (
    select
        unnest(
            from_json(
                $6::json,
                '[{"start_day":"DATE","end_day":"DATE","asked_start":"DATE","asked_end":"DATE","ends_at":"TIMESTAMP","whole":"BOOLEAN","rows":"BIGINT","rejected":"BIGINT","empty_runs":"INTEGER","state":"VARCHAR","sound_at":"TIMESTAMP","next_refresh_at":"TIMESTAMP"}]'
            ),
            recursive := true
        )
) as p
