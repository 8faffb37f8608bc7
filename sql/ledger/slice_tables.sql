-- The tables that hold one slice.
-- $1 slice
-- Returns fingerprint, state, week_starts_on, max_days, parts (JSON), parts_needed_at; at most one live and one building.
select
    fingerprint,
    state,
    week_starts_on,
    max_days,
    parts::varchar as parts,
    parts_needed_at
from ripen.slice_tables
where slice = $1
