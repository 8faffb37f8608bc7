-- What was spent and earned by day and network, and which of it is final?
-- A return sets the revenue of networks that cost money against that money: organic installs are nobody's return.
-- Returns one row per day and network, oldest first.
with paid as (
    select distinct network
    from network_daily
    where cost > 0
),

finality as (
    select
        period as day,
        coalesce(bool_and(is_final) filter (where metric = 'cost'), false) as spend_is_final,
        coalesce(bool_and(is_final) filter (where metric = 'all_revenue_total_d30'), false) as revenue_is_final
    from ripen.finality
    where slice = 'network_daily'
    group by period
)

select
    n.day,
    n.network,
    sum(n.cost)::double as spend,
    sum(n.all_revenue_total_d30)::double as revenue,
    case when p.network is not null then sum(n.all_revenue_total_d30)::double end as paid_revenue,
    f.spend_is_final,
    f.revenue_is_final
from network_daily as n
left join paid as p on p.network = n.network
join finality as f on f.day = n.day
group by n.day, n.network, p.network, f.spend_is_final, f.revenue_is_final
order by n.day, n.network
