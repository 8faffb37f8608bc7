-- What was told of the restless metrics of a slice.
-- $1 slice
-- Returns one row per warning: message.
select message
from ripen.warnings
where code = 'METRIC_RESTLESS' and slice = $1
