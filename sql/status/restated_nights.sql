-- What moved in one slice, day by day of the loads that found it.
-- What a table that is being built has is no total of the slice yet.
-- $1 slice, $2 since which instant (UTC)
-- Returns one row per day (UTC), oldest first: the metrics as a JSON list of metric, restated periods, and the net change of their totals.
with moved as (
    select
        r.seen_at::date as seen_day,
        r.metric,
        count(distinct r.period) as periods,
        sum(coalesce(r.after, 0) - coalesce(r.before, 0))::double as change
    from ripen.restatements as r
    join ripen.loads as l using (load_id)
    join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
    where r.slice = $1 and r.seen_at >= $2::timestamp
    group by all
)

select
    seen_day,
    to_json(list({'metric': metric, 'periods': periods, 'change': change} order by metric))::varchar as metrics
from moved
group by seen_day
order by seen_day
