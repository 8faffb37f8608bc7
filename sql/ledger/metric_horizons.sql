-- The longest horizons the catalog ever gave.
-- Returns one row per metric: metric, horizon_seconds (null: never final).
select
    metric,
    horizon_seconds
from ripen.metric_horizons
