-- What moved in one slice since an instant, by metric.
-- $1 slice, $2 the instant (UTC)
-- Returns one row per metric, most often restated first: restated periods, the oldest of them, and the net change.
select
    r.metric,
    count(distinct r.period) as periods,
    min(r.period) as oldest_period,
    sum(coalesce(r.after, 0) - coalesce(r.before, 0))::double as change
from ripen.restatements as r
where r.slice = $1 and r.seen_at >= $2::timestamp
group by r.metric
order by periods desc, r.metric
