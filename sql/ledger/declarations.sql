-- What was last declared.
-- Returns one row per declaration: name, hash, found.
select
    name,
    hash,
    found
from ripen_internal.declarations
