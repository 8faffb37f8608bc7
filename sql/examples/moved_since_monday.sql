-- What moved since Monday: which published totals changed, by how much, and for how old a day?
-- Every total that a later load of a period changed is in ripen.restatements; one that moved twice counts from its first
-- value to its last. Totals of a table that is still being built are left out.
-- Returns one row per slice, metric and period whose total is not what it was, the largest relative change first.
with this_week as (
    select
        r.slice,
        r.metric,
        r.period,
        arg_min_null(r.before, load_id) as before,
        arg_max_null(r.after, load_id) as after,
        max(r.seen_at) as last_seen_at
    from ripen.restatements as r
    join ripen.loads as l using (load_id)
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    where r.seen_at >= date_trunc('week', now() at time zone 'UTC')
    group by r.slice, r.metric, r.period
)

select
    slice,
    metric,
    period,
    before,
    after,
    coalesce(after, 0) - coalesce(before, 0) as change,
    round(100 * (coalesce(after, 0) - coalesce(before, 0)) / nullif(abs(before), 0), 2) as change_percent,
    last_seen_at
from this_week
where before is distinct from after
order by abs(change_percent) desc nulls last, slice, metric, period
