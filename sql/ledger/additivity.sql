-- What answers have shown of a slice's metrics whose additivity is only assumed.
-- $1 slice
-- Returns one row per metric: metric, adds_up.
select
    metric,
    adds_up
from ripen.additivity
where slice = $1
