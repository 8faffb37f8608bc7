-- Allows twice the days of a request, where at most as many are allowed as were light.
-- $1 the tables (JSON list of slice, fingerprint and days, those that were light)
-- Returns nothing.
update ripen.slice_tables as t
set max_days = t.max_days * 2
from (
    select unnest(from_json($1::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR","days":"INTEGER"}]'), recursive := true)
) as l
where l.slice = t.slice and l.fingerprint = t.fingerprint and t.max_days <= l.days
