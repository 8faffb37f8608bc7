-- How does the revenue of an install grow with the age of its cohort, by the week of the install?
-- Takes every metric all_revenue_total_d<N> of the slice. A day counts at an age only when that value is final; the installs of the
-- same days are its denominator, so that the points of one week can rest on different days: final_days says on how many.
-- Returns one row per install week and age, newest week first, youngest age first.
with cells as (
    select day, installs, metric, revenue
    from network_daily
    unpivot include nulls (revenue for metric in (columns('^all_revenue_total_d[0-9]+$')))
),

final_cells as (
    select
        date_trunc('week', c.day)::date as install_week,
        c.day,
        regexp_extract(c.metric, '[0-9]+$')::integer as age_days,
        c.installs,
        c.revenue
    from cells as c
    join ripen.finality as f on f.slice = 'network_daily' and f.period = c.day and f.metric = c.metric
    where f.is_final
)

select
    install_week,
    age_days,
    count(distinct day) as final_days,
    sum(installs) as installs,
    sum(revenue) as revenue,
    sum(revenue) / nullif(sum(installs), 0) as revenue_per_install
from final_cells
group by install_week, age_days
order by install_week desc, age_days
