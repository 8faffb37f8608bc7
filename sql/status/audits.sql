-- The final cells of one slice that were fetched again, each counted once, and the periods among them that were drawn at random.
-- $1 slice, $2 since which instant (UTC)
-- Returns one row: the periods, their cells and how many of those changed; the drawn periods, and over these the sum of the
-- shares of cells that changed.
with cells as (
    select
        period,
        metric,
        bool_or(has_changed) as has_changed,
        bool_or(is_drawn) as is_drawn,
        bool_or(is_drawn and has_changed) as has_drawn_changed
    from ripen_internal.final_fetches
    where slice = $1 and fetched_at >= $2::timestamp
    group by period, metric
),

periods as (
    select
        count(*) as cells,
        count(*) filter (has_changed) as changed,
        bool_or(is_drawn) as is_drawn,
        count(*) filter (has_drawn_changed) / nullif(count(*) filter (is_drawn), 0) as drawn_share
    from cells
    group by period
)

select
    count(*) as periods,
    coalesce(sum(cells), 0) as cells,
    coalesce(sum(changed), 0) as changed,
    count(*) filter (is_drawn) as drawn_periods,
    coalesce(sum(drawn_share), 0) as drawn_changed
from periods
