-- Whether a slice has loaded values of a metric, in its live table or in one that is being built.
-- $1 slice, $2 metric
-- Returns one row: is_loaded.
select coalesce(bool_or(list_contains(metrics, $2)), false) as is_loaded
from ripen.loads
where slice = $1
