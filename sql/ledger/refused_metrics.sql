-- What runs since an instant told of metrics that only a star stands for and that the service refused, beside the metrics that
-- their slice was loaded with.
-- $1 since which as-of instant (UTC)
-- Returns one row per warning: slice, message, loaded (the metrics of all loads of the slice).
select
    w.slice,
    w.message,
    coalesce((select list(distinct m) from (select unnest(l.metrics) as m from ripen.loads as l where l.slice = w.slice)), []) as loaded
from ripen.warnings as w
join ripen.runs as r on r.run_id = w.run_id
where w.code = 'METRIC_REFUSED' and r.as_of > $1::timestamp and w.slice is not null
