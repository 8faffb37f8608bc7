-- What was last declared.
-- Returns one row per declaration: name, said, found.
select
    name,
    said,
    found
from ripen_internal.declarations
