-- Which totals of one slice moved most since an instant, measured against what they were.
-- What a table that is being built has is no total of the slice yet.
-- $1 slice, $2 the instant (UTC), $3 how many
-- Returns one row per period and metric, the largest relative change first, those that were nothing before last.
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
    period,
    before::double as before,
    after::double as after,
    (coalesce(after, 0) - coalesce(before, 0))::double as change
from moved
where before is distinct from after
order by abs(change) / nullif(abs(before), 0) desc nulls last, abs(change) desc, metric, period
limit $3
