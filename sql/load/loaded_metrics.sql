-- The metrics of which a table has values.
-- $1 slice, $2 fingerprint, or null for the live table and one that is being built together
-- Returns one row per metric, in order: metric.
select distinct unnest(metrics) as metric
from ripen.loads
where slice = $1 and ($2::varchar is null or fingerprint = $2)
order by metric
