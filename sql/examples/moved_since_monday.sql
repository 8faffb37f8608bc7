-- What moved since Monday: which published totals changed, by how much, and for how old a day?
-- Every total that a later load of a period changed is in ripen.restatements; one that moved twice counts from its first
-- value to its last.
-- Returns one row per slice, metric and period whose total is not what it was, the largest relative change first.
with this_week as (
    select
        slice,
        metric,
        period,
        arg_min_null(before, load_id) as before,
        arg_max_null(after, load_id) as after,
        max(seen_at) as last_seen_at
    from ripen.restatements
    where seen_at >= date_trunc('week', now() at time zone 'UTC')
    group by slice, metric, period
)

select
    slice,
    metric,
    period,
    before,
    after,
    coalesce(after, 0) - coalesce(before, 0) as change,
    round(100 * (coalesce(after, 0) - coalesce(before, 0)) / nullif(before, 0), 2) as change_percent,
    last_seen_at
from this_week
where before is distinct from after
order by abs(change_percent) desc nulls last, slice, metric, period
