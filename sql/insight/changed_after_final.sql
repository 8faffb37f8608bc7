-- Final totals that were found changed and not yet warned of: by this run, or by earlier ones that were killed or failed before they
-- could warn. Unproven answers, and those with rejected rows, are no evidence.
-- Returns one row per slice: the metrics, how many totals and periods, the first days of the newest three, the longest horizon in days,
-- and the age in days at which the latest of these changes was found.
select
    r.slice,
    list_sort(list(distinct r.metric)) as metrics,
    count(distinct (r.metric, r.period)) as totals,
    count(distinct r.period) as periods,
    list_reverse_sort(list(distinct r.period::varchar))[:3] as newest,
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
    and not exists (
        select 1
        from ripen.warnings as w
        join ripen.runs as e on e.run_id = w.run_id
        where w.code = 'FINAL_CHANGED' and w.slice = r.slice and e.run_number >= n.run_number
    )
group by r.slice
order by r.slice
