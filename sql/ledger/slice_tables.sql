-- The tables that hold slices.
-- $1 slices (JSON list)
-- Returns slice, fingerprint, state, control, max_days, parts (JSON), sized_at; at most one live and one building of each.
select
    slice,
    fingerprint,
    state,
    control,
    max_days,
    parts::varchar as parts,
    sized_at
from ripen.slice_tables
where slice in (select unnest(from_json($1::json, '["VARCHAR"]')))
