-- The metrics of a slice that were told as restless.
-- $1 slice
-- Returns one row per metric: metric.
select metric
from ripen_internal.restless_metrics
where slice = $1
