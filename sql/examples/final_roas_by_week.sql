-- Which networks earned back within 30 days what they cost, by the week of the install?
-- Reads the final view alone: a week stands here only with the days whose spend and 30-day revenue can no longer change.
-- Revenue and spend are summed first and divided then, as a ratio of a sum is no sum of ratios.
-- Returns one row per install week and network, newest week first; final_days says how many of the seven are in.
with final_days as (
    select
        date_trunc('week', day)::date as install_week,
        day,
        network,
        installs,
        cost,
        all_revenue_total_d30 as revenue_d30
    from network_daily_final
    where cost is not null and all_revenue_total_d30 is not null
)

select
    install_week,
    network,
    count(distinct day) as final_days,
    sum(installs) as installs,
    sum(cost) as cost,
    sum(revenue_d30) as revenue_d30,
    round(sum(revenue_d30) / nullif(sum(cost), 0), 3) as roas_d30
from final_days
group by install_week, network
having sum(cost) > 0
order by install_week desc, cost desc, network
