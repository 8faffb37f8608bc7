-- The days of a table that may lose rows. Those of an earlier table of the same meaning have no metrics.
-- $1 slice, $2 fingerprint
-- Returns one row per load: start_day, end_day.
select
    start_day,
    end_day
from ripen.loads
where slice = $1 and fingerprint = $2 and list_contains(reasons, 'loss accepted') and len(metrics) > 0
