-- The metrics of a slice whose values may be summed, so far as the service's totals have not shown otherwise.
-- $1 slice
-- Returns one row per metric, in configured order.
select m.metric
from ripen.slice_metrics as m
left join ripen.additivity as a on a.slice = m.slice and a.metric = m.metric
where m.slice = $1 and m.additive and coalesce(a.adds_up, true)
order by m.position
