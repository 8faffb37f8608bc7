-- What was spent on each network in each month, as tracked and as the network reports it, and how far apart are they?
-- The youngest months still move: networks restate spend for two weeks. first_day and last_day are those of the month that have
-- rows of any network: do not compare a month that began or ended on another day with whole ones.
-- Returns one row per month and network with spend, newest month first.
with days as (
    select
        date_trunc('month', day)::date as month,
        min(day) as first_day,
        max(day) as last_day
    from network_daily
    group by all
),

monthly as (
    select
        date_trunc('month', day)::date as month,
        network,
        sum(installs) as installs,
        sum(installs) filter (where cost is not null) as installs_with_cost,
        sum(cost) as cost,
        sum(network_cost) as network_cost
    from network_daily
    group by all
)

select
    m.month,
    m.network,
    d.first_day,
    d.last_day,
    m.installs,
    m.cost,
    m.network_cost,
    m.network_cost - m.cost as difference,
    round(m.cost / nullif(m.installs_with_cost, 0), 4) as cost_per_install
from monthly as m
join days as d on d.month = m.month
where m.cost > 0 or m.network_cost > 0
order by m.month desc, m.cost desc nulls last, m.network
