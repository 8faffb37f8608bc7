-- Which networks earned back within 30 days of the install what they cost, by the week of the install?
-- Takes only days of which spend and 30-day revenue are final; a ratio is one of sums, over the rows in which both are known, never
-- a sum of ratios.
-- Returns one row per install week and network with spend, newest week first; final_days says how many of the seven are in.
with final_days as (
    select
        period as day,
        date_trunc('week', period)::date as install_week,
        count(*) over (partition by date_trunc('week', period)) as days_of_week
    from ripen.finality
    where slice = 'network_daily' and metric in ('cost', 'all_revenue_total_d30')
    group by period
    having bool_and(is_final)
)

select
    f.install_week,
    n.network,
    f.days_of_week as final_days,
    sum(n.installs) as installs,
    sum(n.cost) as cost,
    sum(n.all_revenue_total_d30) as revenue_d30,
    round(ratio(n.all_revenue_total_d30, n.cost), 3) as roas_d30
from network_daily as n
join final_days as f on f.day = n.day
group by f.install_week, n.network, f.days_of_week
having sum(n.cost) > 0
order by f.install_week desc, cost desc, n.network
