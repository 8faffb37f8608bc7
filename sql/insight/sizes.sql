-- How many control totals there are of each metric.
-- Returns one row per control and metric: control, metric, totals.
select
    control,
    metric,
    count(*) as totals
from ripen.control_totals
group by control, metric
