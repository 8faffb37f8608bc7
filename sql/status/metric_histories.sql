-- What fetches have shown of each additive metric of one slice: at which age its values last changed, and whether final ones did.
-- $1 slice, $2 since which instant fetches of final cells count (UTC)
-- Returns one row per metric, in configured order: its horizon in days (null: never final), the periods whose final total was
-- fetched again and how many of them had changed; the age of the last change and the later looks that found none (null before
-- that was measured).
select
    m.metric,
    m.horizon_seconds / 86400.0 as horizon_days,
    count(distinct f.period) as final_cells,
    count(distinct f.period) filter (f.has_changed) as final_changed,
    any_value(e.last_change_age) as last_change_age,
    any_value(e.later_looks) as later_looks
from ripen.slice_metrics as m
left join ripen_internal.final_fetches as f on f.slice = m.slice and f.metric = m.metric and f.fetched_at >= $2::timestamp
left join ripen_internal.horizon_evidence as e on e.slice = m.slice and e.metric = m.metric
where m.slice = $1 and m.additive
group by m.metric, m.horizon_seconds, m.position
order by m.position
