-- What did an install of each network cost, and what has it returned after 7 and after 30 days?
-- The view shows final cells alone, and ratio() divides sums of the rows in which both sides are known.
-- Returns one row per network and partner, the dearest first.
select
    network,
    partner_name as partner,
    sum(cost)::double as spend,
    sum(installs)::double as installs,
    ratio(cost, installs)::double as cost_per_install,
    ratio(all_revenue_total_d7, cost)::double as return_d7,
    ratio(all_revenue_total_d30, cost)::double as return_d30
from network_daily_final
group by network, partner
order by spend desc nulls last, network, partner
