-- What moved in each slice since an instant, by metric; a total that moved twice counts from its first value to its last,
-- one that moved back does not count. Totals of a table that is still being built are left out.
-- $1 the instant (UTC)
-- Returns one row per slice and metric, most often restated first: restated periods, how many of them had no value before,
-- the oldest of them, the totals over those periods before and after (null where none had a value), and the net change.
with moved as (
    select
        r.slice,
        r.metric,
        r.period,
        arg_min_null(r.before, load_id) as before,
        arg_max_null(r.after, load_id) as after
    from ripen.restatements as r
    join ripen.loads as l using (load_id)
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    where r.seen_at >= $1::timestamp
    group by r.slice, r.metric, r.period
)

select
    slice,
    metric,
    count(*) as periods,
    count(*) - count(before) as first_values,
    min(period) as oldest_period,
    sum(before)::double as before,
    sum(after)::double as after,
    sum(coalesce(after, 0) - coalesce(before, 0))::double as change
from moved
where before is distinct from after
group by slice, metric
order by slice, periods desc, metric
