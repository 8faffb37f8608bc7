-- What a report took beside its rows, and a row, by a regression over the newest loads of a single request. Medians of loads of
-- like size stand for these, as a retried request takes much longer than its report.
-- $1 how many loads
-- Returns one row: loads, base_ms and row_ms (null if the loads are too much alike).
with newest as (
    select
        date_diff('millisecond', requested_at, received_at) as ms,
        rows_fetched as fetched
    from ripen.loads
    where requests = 1
    order by load_id desc
    limit $1
),

sized as (
    select
        ms,
        fetched,
        ntile(20) over (order by fetched) as size
    from newest
),

alike as (
    select
        count(*) as loads,
        median(ms) as ms,
        median(fetched) as fetched
    from sized
    group by size
)

select
    coalesce(sum(loads), 0)::bigint as loads,
    case when isfinite(regr_slope(ms, fetched)) then regr_intercept(ms, fetched) end as base_ms,
    case when isfinite(regr_slope(ms, fetched)) then regr_slope(ms, fetched) end as row_ms
from alike
