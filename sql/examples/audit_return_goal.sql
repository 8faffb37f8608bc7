-- An audit: which networks are expected to return less than 20 % of their spend by day 7?
-- Of days with a projection, and of networks that these days cost more than 100, in the slice's currency.
-- Returns one row per network below that goal, the worst first.
with expected as (
    select
        day,
        network,
        sum(projected) as revenue
    from network_daily_projected
    where metric = 'all_revenue_total_d7' and projected is not null
    group by day, network
),

spent as (
    select
        day,
        network,
        sum(cost) as cost
    from network_daily
    group by day, network
)

select
    e.network,
    sum(s.cost) as spend,
    round(sum(e.revenue) / sum(s.cost), 3) as expected_return
from expected as e
join spent as s on s.day = e.day and s.network = e.network
group by e.network
having sum(s.cost) > 100 and sum(e.revenue) < 0.2 * sum(s.cost)
order by expected_return
