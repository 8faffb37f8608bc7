-- The periods of one load, with the rows each of them got; the older entries were deleted before.
-- $1 slice, $2 fingerprint, $3 load_id, $4 fetched_at, $5 periods (JSON list)
-- Reads the temporary table after_totals (period, "row count").
insert into ripen.periods
select
    $1,
    $2,
    p.start_day,
    p.end_day,
    p.asked_start,
    p.asked_end,
    $3::bigint,
    $4::timestamp,
    p.ends_at,
    p.whole,
    coalesce(a.row_count, 0),
    p.rejected,
    p.state,
    p.next_refresh_at
from (
    select unnest(from_json($5::json, '[{"start_day":"DATE","end_day":"DATE","asked_start":"DATE","asked_end":"DATE","ends_at":"TIMESTAMP","whole":"BOOLEAN","rejected":"BIGINT","state":"VARCHAR","next_refresh_at":"TIMESTAMP"}]'), recursive := true)
) as p
left join (
    select f.start_day, sum(t."row count") as row_count
    from after_totals as t
    join (
        select unnest(from_json($5::json, '[{"start_day":"DATE","end_day":"DATE"}]'), recursive := true)
    ) as f on t.period >= f.start_day and t.period < f.end_day
    group by f.start_day
) as a on a.start_day = p.start_day
