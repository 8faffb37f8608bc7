-- How long do totals keep moving after their day, and by how much: are the horizons long enough?
-- Reads ripen.restatements, which has every total that a later load of its period changed. Age is counted in whole days
-- from the instant the day ended, in the offset of the slice, to the load that saw the change; -1 before it had ended.
-- Totals of a table that is still being built are left out: they are not published yet.
-- Returns one row per metric and age of network_daily at which a total moved, youngest age first.
select
    r.metric,
    floor(date_diff('second', p.ends_at, r.seen_at) / 86400)::integer as age_days,
    count(distinct r.period) as changed_periods,
    sum(coalesce(r.after, 0) - coalesce(r.before, 0)) as change,
    median(abs(coalesce(r.after, 0) - coalesce(r.before, 0)) / nullif(abs(r.before), 0)) as median_relative_change
from ripen.restatements as r
join ripen.loads as l using (load_id)
join ripen.slice_tables as t on t.slice = l.slice and t.fingerprint = l.fingerprint and t.state = 'live'
join ripen.periods as p on p.slice = r.slice and p.fingerprint = l.fingerprint and p.start_day = r.period
where r.slice = 'network_daily'
group by r.metric, age_days
order by r.metric, age_days
