-- What adaptive refreshes of one slice would have left out, and what that would have cost.
-- $1 slice
-- Returns one row per tolerance, ascending: the ages left out, fetches and rows with how many of them, and totals with how
-- many differed and by how much at most.
select
    tolerance,
    is_configured,
    ages_left_out,
    fetches,
    fetches_left_out,
    rows,
    rows_left_out,
    totals,
    totals_differed,
    most_differed
from ripen.adaptive_refreshes
where slice = $1
order by tolerance
