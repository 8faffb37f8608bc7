-- What did an install of each network cost, and what has it returned after 7 and after 30 days?
-- The view shows final cells alone, and ratio() divides sums of the rows in which both sides are known, so that each column rests on
-- the days that are final for it. Spend is in the slice's `currency`, and users count as its `reattributed` says.
-- Returns one row per network, the dearest first.
select
    network,
    sum(cost) as spend,
    ratio(cost, installs) as cost_per_install,
    ratio(all_revenue_total_d7, cost) as roas_d7,
    ratio(all_revenue_total_d30, cost) as roas_d30
from network_daily_final
group by network
order by spend desc nulls last, network
