-- Which networks earned back within 30 days of the install what they cost?
-- Only values that can no longer change count.
select
    network,
    sum(installs) as installs,
    round(sum(cost), 2) as cost,
    round(sum(all_revenue_total_d30), 2) as revenue_d30,
    round(sum(all_revenue_total_d30) / sum(cost), 3) as returned
from network_daily_final
where all_revenue_total_d30 is not null
group by network
having sum(cost) > 0
order by sum(cost) desc
limit 5
