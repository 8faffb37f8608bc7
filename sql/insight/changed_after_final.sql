-- Final totals that a run found changed, and those that earlier runs found but could not report before they were killed. Unproven
-- answers, and those with rejected rows, are no evidence.
-- $1 run_id
-- Returns one row per slice and metric: how many periods, the horizon in days, and the age in days at which the latest of these
-- changes was found.
select
    r.slice,
    r.metric,
    count(distinct r.period) as periods,
    max(m.horizon_seconds) / 86400 as horizon_days,
    max(ceil(date_diff('second', p.ends_at, r.seen_at) / 86400.0))::integer as last_age
from ripen.restatements as r
join ripen.loads as l on l.load_id = r.load_id and l.verdict <> 'unproven' and l.rows_rejected = 0
join ripen.runs as n on n.run_id = l.run_id and n.command <> 'replay'
join ripen.slice_metrics as m on m.slice = r.slice and m.metric = r.metric
join ripen.periods as p
    on p.slice = r.slice and p.fingerprint = l.fingerprint and p.start_day = r.period and p.age = m.age
where
    r.after_final
    and (
        n.run_id = $1
        or n.run_number > (select coalesce(max(e.run_number), 0) from ripen.runs as e where e.finished_at is not null)
    )
group by r.slice, r.metric
order by r.slice, r.metric
