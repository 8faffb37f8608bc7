-- How does revenue grow with the age of the cohort, in rows that a chart can draw directly?
-- Takes only values that can no longer change; an older age rests on fewer days, and final_days says on how many.
-- Returns one row per age, youngest first.
select
    age_days,
    count(distinct day) as final_days,
    sum("value") as revenue,
    sum("value") / nullif(count(distinct day), 0) as revenue_per_day
from network_daily_cohorts
where metric = 'all_revenue_total' and is_final
group by age_days
order by age_days
