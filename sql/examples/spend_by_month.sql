-- What was spent on each network in each month, as tracked and as the network reports it, and how far apart are they?
-- The youngest months still move: networks restate spend for two weeks.
-- Returns one row per month and network with spend, newest month first.
with monthly as (
    select
        date_trunc('month', day)::date as month,
        network,
        sum(installs) as installs,
        sum(cost) as cost,
        sum(network_cost) as network_cost,
        max(day) as last_day
    from network_daily
    group by all
)

select
    month,
    network,
    last_day,
    installs,
    cost,
    network_cost,
    network_cost - cost as difference,
    round(cost / nullif(installs, 0), 4) as cost_per_install
from monthly
where cost > 0 or network_cost > 0
order by month desc, cost desc nulls last, network
