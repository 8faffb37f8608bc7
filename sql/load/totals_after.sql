-- The rows each period of a window has now, from the totals taken after it was replaced.
-- Returns one row per period with rows: start_day, rows.
select
    p as start_day,
    n as rows
from "ripen after"
