-- Which control totals the rows of each slice are compared with.
-- $1 slices (JSON list of slice, fingerprint and control, which is null for a slice without any)
-- Returns nothing.
update ripen.slice_tables as t
set control = m.control
from (
    select unnest(from_json($1::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","control":"VARCHAR"}]'), max_depth := 2)
) as m
where t.slice = m.slice and t.fingerprint = m.fingerprint and t.control is distinct from m.control
