-- How does the revenue of an install grow with its age, by the month of the install?
-- A month counts at an age once every day of it is final there, so that all points of a line rest on the same installs, those of
-- the whole month; one that is loaded in part does not count.
-- Returns one row per month and age, oldest month first, youngest age first.
with cells as (
    select date_trunc('month', day)::date as install_month, installs, metric, revenue
    from network_daily
    unpivot include nulls (revenue for metric in (columns('^all_revenue_total_d[0-9]+$')))
),

final_months as (
    select
        date_trunc('month', period)::date as install_month,
        metric
    from ripen.finality
    where slice = 'network_daily' and is_final
    group by all
    having count(*) = day(last_day(min(period)))
)

select
    strftime(f.install_month, '%Y-%m') as install_month,
    regexp_extract(f.metric, '[0-9]+$')::integer as age_days,
    (sum(c.revenue) / sum(c.installs))::double as revenue_per_install
from cells as c
join final_months as f on f.install_month = c.install_month and f.metric = c.metric
group by f.install_month, f.metric
having sum(c.installs) > 0 and count(c.revenue) > 0
order by f.install_month, age_days
