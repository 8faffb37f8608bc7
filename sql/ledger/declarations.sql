-- What was last declared.
-- Returns one row per declaration: name, hash, state.
select
    name,
    hash,
    state
from ripen_internal.declarations
