-- How does the revenue of an install grow with its age, by the month of the install?
-- A month counts at an age once every day of it is final there, so that all points of a line rest on the same installs.
-- Returns one row per month and age, oldest month first, youngest age first.
with revenue_by_day as (
    select
        "day",
        age_days,
        sum("value") as revenue,
        bool_and(is_final) as is_final
    from network_daily_cohorts
    where metric = 'all_revenue_total'
    group by "day", age_days
),

installs_by_day as (
    select "day", sum(installs) as installs
    from network_daily
    group by "day"
)

select
    strftime(i.day, '%Y-%m') as install_month,
    r.age_days,
    (sum(r.revenue) / sum(i.installs))::double as revenue_per_install
from installs_by_day as i
join revenue_by_day as r on r.day = i.day
group by install_month, r.age_days
having bool_and(r.is_final) and sum(i.installs) > 0
order by install_month, r.age_days
