-- Which metrics of which days are final, and from when on will the others be?
-- A metric of a period is final once the period was requested after its end plus the metric's horizon and settling time.
-- Returns one row per period and metric of network_daily, newest period first; final_from is null if it never is.
select
    f.period as day,
    f.metric,
    m.kind,
    f.final_at as final_from,
    f.fetched_at,
    f.is_final
from ripen.finality as f
join ripen.slice_metrics as m on m.slice = f.slice and m.metric = f.metric
where f.slice = 'network_daily'
order by day desc, m.position
