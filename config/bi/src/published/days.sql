-- What was spent and earned by day and network, and which of it is final?
-- A return sets the revenue of networks that cost money against that money: organic installs are nobody's return.
-- Returns one row per day and network, oldest first.
with networks as (
    select
        network,
        bool_or(cost > 0) as is_paid
    from network_daily
    group by network
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
    case when w.is_paid then sum(n.all_revenue_total_d30)::double end as paid_revenue,
    f.spend_is_final,
    f.revenue_is_final
from network_daily as n
join networks as w on w.network is not distinct from n.network
join finality as f on f.day = n.day
group by n.day, n.network, w.is_paid, f.spend_is_final, f.revenue_is_final
order by n.day, n.network
