-- What moved in one slice since an instant, by metric; a total that moved twice counts from its first value to its last,
-- one that moved back does not count.
-- What a table that is being built has is no total of the slice yet.
-- $1 slice, $2 the instant (UTC)
-- Returns one row per metric, most often restated first: restated periods, how many of them had no value before, the
-- oldest of them, the totals over those periods before and after (null where none had a value), and the net change.
with moved as (
    select
        metric,
        period,
        arg_min_null(before, load_id) as before,
        arg_max_null(after, load_id) as after
    from ripen.restatements
    where
        slice = $1
        and seen_at >= $2::timestamp
        and load_id not in (
            select l.load_id
            from ripen.loads as l
            where
                l.slice = $1
                and l.fingerprint not in (
                    select t.fingerprint
                    from ripen.slice_tables as t
                    where t.slice = $1 and t.state = 'live'
                )
        )
    group by metric, period
)

select
    metric,
    count(*) as periods,
    count(*) - count(before) as first_values,
    min(period) as oldest_period,
    sum(before)::double as before,
    sum(after)::double as after,
    sum(coalesce(after, 0) - coalesce(before, 0))::double as change
from moved
where before is distinct from after
group by metric
order by periods desc, metric
