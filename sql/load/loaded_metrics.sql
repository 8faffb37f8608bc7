-- The metrics of which a table has values.
-- $1 slice, $2 fingerprint
-- Returns one row per metric, in order: metric.
select distinct unnest(metrics) as metric
from ripen.loads
where slice = $1 and fingerprint = $2
order by metric
