-- What happened between two instants, of each kind the largest change first. Values that became final, and totals of metrics that move
-- every night, are only counted, by slice: totals of different metrics do not add up.
-- $1 after which instant (UTC), $2 until which, $3 the kinds in order (JSON list)
-- Returns one row: items, a JSON list of rows as in ripen.news.
with news as (
    select
        found_at,
        kind,
        kind in ('became final', 'restless total moved') as is_counted,
        slice,
        name,
        label,
        periods,
        first_period,
        last_period,
        before,
        after,
        share
    from ripen.news
    where found_at > $1::timestamp and found_at <= $2::timestamp
),

items as (
    select
        found_at,
        kind,
        slice,
        if(is_counted, null, name) as name,
        any_value(label) as label,
        sum(periods)::bigint as periods,
        min(first_period) as first_period,
        max(last_period) as last_period,
        any_value(before) filter (not is_counted) as before,
        any_value(after) filter (not is_counted) as after,
        any_value(share) filter (not is_counted) as share
    from news
    group by found_at, kind, slice, if(is_counted, null, name)
)

select
    coalesce(
        to_json(
            list(
                {
                    found_at: strftime(found_at, '%Y-%m-%dT%H:%M:%S.%gZ'),
                    kind: kind,
                    slice: slice,
                    name: name,
                    label: label,
                    periods: periods,
                    first_period: first_period::varchar,
                    last_period: last_period::varchar,
                    before: before,
                    after: after,
                    share: share
                }
                order by
                    list_position(from_json($3::json, '["VARCHAR"]'), kind),
                    abs(share) desc nulls first,
                    periods desc,
                    slice,
                    name
            )
        ),
        '[]'
    )::varchar as items
from items
