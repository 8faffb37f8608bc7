-- The tables that hold one slice.
-- $1 slice
-- Returns fingerprint, state, week_starts_on, max_days, parts (JSON), sized_at; at most one live and one building.
select
    fingerprint,
    state,
    week_starts_on,
    max_days,
    parts::varchar as parts,
    sized_at
from ripen.slice_tables
where slice = $1
