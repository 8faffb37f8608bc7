-- What the loads of a table requested, apart from days and metrics. A list of apps may lack one that was lost.
-- $1 slice, $2 fingerprint
-- Returns one row per different request: parameters (JSON).
select distinct json_merge_patch(parameters, '{"date_period": null, "metrics": null}')::varchar as parameters
from ripen.loads
where slice = $1 and fingerprint = $2
