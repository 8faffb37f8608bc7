-- The ledger rows of control totals, which remember how many days one request may cover.
-- $1 control totals (JSON list of slice and fingerprint)
-- Returns nothing.
insert into ripen.slice_tables by name
select
    c.slice,
    c.fingerprint,
    'ripen.control_totals' as table_name,
    'control' as state,
    now() at time zone 'UTC' as created_at
from (
    select unnest(from_json($1::json, '[{"slice":"VARCHAR","fingerprint":"VARCHAR"}]'), max_depth := 2)
) as c
where not exists (from ripen.slice_tables as t where t.slice = c.slice)
