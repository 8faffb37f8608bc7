-- What did each network cost, and what has it returned so far after 7 and after 30 days?
-- Each ratio takes its revenue and its spend from the same days, those of which both are final, and from rows in which both are
-- known; `spend` itself is that of all days, and that of the youngest two weeks still moves. Spend is in the slice's `currency`, and
-- users count as its `reattributed` says; without these two the service decides.
-- Returns one row per network, the dearest first; the number of days behind each ratio stands beside it.
with final_days as (
    select
        f.period as day,
        bool_and(f.is_final) filter (where f.metric in ('cost', 'all_revenue_total_d7')) as is_final_d7,
        bool_and(f.is_final) filter (where f.metric in ('cost', 'all_revenue_total_d30')) as is_final_d30
    from ripen.finality as f
    where f.slice = 'network_daily' and f.metric in ('cost', 'all_revenue_total_d7', 'all_revenue_total_d30')
    group by f.period
)

select
    n.network,
    sum(n.cost) as spend,
    count(distinct n.day) filter (where d.is_final_d7) as days_d7,
    ratio(n.all_revenue_total_d7, case when d.is_final_d7 then n.cost end) as roas_d7,
    count(distinct n.day) filter (where d.is_final_d30) as days_d30,
    ratio(n.all_revenue_total_d30, case when d.is_final_d30 then n.cost end) as roas_d30
from network_daily as n
join final_days as d on d.day = n.day
group by n.network
order by spend desc nulls last, n.network
