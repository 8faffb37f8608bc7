-- Which totals of one slice moved most since an instant, measured against what they were.
-- What a table that is being built has is no total of the slice yet.
-- $1 slice, $2 the instant (UTC), $3 how many
-- Returns one row per period and metric, the largest relative change first, those that were nothing before last.
with moved as (
    select
        r.metric,
        r.period,
        arg_min_null(r.before, load_id) as before,
        arg_max_null(r.after, load_id) as after
    from ripen.restatements as r
    join ripen.loads as l using (load_id)
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    where r.slice = $1 and r.seen_at >= $2::timestamp
    group by r.metric, r.period
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
