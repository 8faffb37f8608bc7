-- How long do totals keep moving after their day, and by how much: are the horizons long enough?
-- Reads ripen.restatements, where every total stands that a later load of its period changed. Age is counted from the
-- end of the day to the load that saw the change.
-- Returns one row per metric and age of network_daily at which a total moved, youngest age first.
select
    r.metric,
    date_diff('day', r.period, r.seen_at::date) - 1 as age_days,
    count(*) as changed_periods,
    sum(coalesce(r.after, 0) - coalesce(r.before, 0)) as change,
    median(abs(coalesce(r.after, 0) - coalesce(r.before, 0)) / nullif(abs(r.before), 0)) as median_relative_change
from ripen.restatements as r
where r.slice = 'network_daily'
group by r.metric, age_days
order by r.metric, age_days
